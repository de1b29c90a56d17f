"""What items say of rigid motions and momenta, against the residual of moved copies and the momenta of a system."""

import numpy as np
from oracles.finite_differences import slope

from femb.numerics import rotations
from femb.system.known_motions import known_motions


def moved_by(system, structure, twist, size=0.8):
    """The rotation and shift of a finite motion along a twist (6,), and a function that moves states by it."""
    shift, turn = size * twist[:3], size * twist[3:]
    rotation, angle2 = rotations.exponential(turn), turn @ turn
    if angle2 > 1e-20:  # about the axis of the screw, and along it
        centre = np.cross(turn, shift) / angle2
        shift = centre - rotations.rotate(rotation, centre) + (shift @ turn / angle2) * turn
    layout = system.layout

    def move(q, *vectors):
        q, *vectors = q.copy(), *(x.copy() for x in vectors)
        for k in structure.frames:
            i, j = layout.frame_q[k], layout.frame_v[k]
            q[i : i + 3] = shift + rotations.rotate(rotation, q[i : i + 3])
            if layout.frames[k].freedom == 6:
                q[i + 3 : i + 7] = rotations.multiply(rotation, q[i + 3 : i + 7])
            for x in vectors:
                x[j : j + 3] = rotations.rotate(rotation, x[j : j + 3])
        return q, *vectors

    return move


def mask_of(system, structure):
    """(n_v,) whether velocities are those of a structure's frames, or of internal coordinates of these."""
    layout, mask = system.layout, np.zeros(system.n_v, dtype=bool)
    for k in structure.frames:
        mask[layout.frame_v[k] : layout.frame_v[k] + layout.frames[k].freedom] = True
    for internal, j in zip(layout.internal, layout.internal_v, strict=True):
        mask[j] = internal.owner in structure.frames
    return mask


def close(got, wanted, tolerance, size=1.0):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * (size + np.max(np.abs(wanted), initial=0.0)))


def check_known_motions(system, t, q, v, a, fixed=()):
    """What structures are said not to notice leaves residual and constraints as they are, and momenta stay.

    fixed : frames that are held.
    """
    for structure in known_motions(system, q, fixed):
        assert not structure.silent
        mask = mask_of(system, structure)
        check_structure(system, structure, mask, t, q, np.where(mask, v, 0.0), np.where(mask, a, 0.0))


def check_structure(system, structure, mask, t, q, v, a):
    """The same of one structure; v, a : zero outside the ``mask`` of its velocities."""
    u = system.inputs_at(t, q, v)

    def residual(q, v, a):
        return system.residual(system.inputs_at(t, q, v)[None], q[None], v[None], a[None])[0]

    def gaps(q, v):
        return system.constraints(system.inputs_at(t, q, v)[None], q[None], v[None])[0][0]

    r, free = residual(q, v, a), system.rigid_velocities(q)
    for twist in structure.motions:
        move = moved_by(system, structure, twist)
        after, speed, change = move(q, v, a)
        close(residual(after, speed, change)[mask], move(q, r)[1][mask], 1e-9)
        close(gaps(after, speed), gaps(q, v), 1e-10)
    for boost in structure.boosts:
        close(residual(q, v + np.where(mask, boost @ free, 0.0), a)[mask], r[mask], 1e-9)
    rate = system.rates(q[None], v[None])[0]
    change = slope(lambda x: system.energy_momentum((q + x * rate)[None], (v + x * a)[None], u[None])[0, 2:])
    balance = free @ np.where(mask, r, 0.0)
    close(structure.momenta @ balance, structure.momenta @ change, 1e-8, np.abs(r).max())
    opened = system.jacobian(u, q)[:, mask] @ (structure.momenta @ free)[:, mask].T
    close(opened, np.zeros_like(opened), 1e-9)
