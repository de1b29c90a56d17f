"""Additional inertia terms of sections whose mass centre has an offset from the reference axis.

The offset c = (0, c_y, c_z) is in section axes; kernels take c_y and c_z. The mass centre of a section at the point r
of the reference axis, with angular velocity omega, has the velocity r' + omega x c. The terms are integrated at the
strain points, where the section axes are known; they are not evaluated if no section has an offset.
Source: docs/theory/beam.md, equations (29) to (33).
"""

from femb.elements.beam.strain import HERMITE_VALUES
from femb.numerics.compile import inlined
from femb.numerics.vector3 import cross, dot


@inlined
def value_at(i, x, out):
    """out (3,): the cubic with end values and derivatives x (4, 3) at strain point i."""
    for k in range(3):
        out[k] = 0.0
        for a in range(4):
            out[k] += HERMITE_VALUES[i, a] * x[a, k]


@inlined
def centre_acceleration(cy, cz, w, w_rate, out):
    """out (3,): acceleration of the mass centre relative to the reference axis, section axes: w' x c + w x (w x c)."""
    along = w[1] * cy + w[2] * cz
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    out[0] = w_rate[1] * cz - w_rate[2] * cy + w[0] * along
    out[1] = -w_rate[0] * cz + w[1] * along - square * cy
    out[2] = w_rate[0] * cy + w[2] * along - square * cz


@inlined
def offset_force(i, mass, cy, cz, axes, w, w_rate, x2, work, F, moment):
    """Add the inertia force of the offset at strain point i to F (4, 3), conjugate to x, and moment (3,), section axes.

    mass : line mass times weight of the point. axes (3, 3) : rows t, m, n. w, w_rate (3,) : spin of the section and its
    rate, section axes. x2 (4, 3) : second rates of x minus gravity. work : (4, 3); row 0 is set to the acceleration of
    the reference axis (axes of end I), row 1 to that of the mass centre relative to it (section axes).
    """
    value_at(i, x2, work[0])
    centre_acceleration(cy, cz, w, w_rate, work[1])
    for k in range(3):
        work[2, k] = work[1, k] + dot(axes[k], work[0])
    moment[0] += mass * (cy * work[2, 2] - cz * work[2, 1])
    moment[1] += mass * cz * work[2, 0]
    moment[2] -= mass * cy * work[2, 0]
    for k in range(3):
        f = mass * (work[1, 0] * axes[0, k] + work[1, 1] * axes[1, k] + work[1, 2] * axes[2, k])
        for a in range(4):
            F[a, k] += HERMITE_VALUES[i, a] * f


@inlined
def offset_force_change(i, mass, cy, cz, axes, w, w_rate, work, daxes, dw, dw_rate, dx2, dwork, dF, dmoment):
    """Add the change of the terms of ``offset_force`` to dF (4, 3) and dmoment (3,); ``work`` is from ``offset_force``.

    daxes (3, 3), dw, dw_rate (3,), dx2 (4, 3) : the changes of its arguments. dwork : (4, 3).
    """
    value_at(i, dx2, dwork[0])
    along, dalong = w[1] * cy + w[2] * cz, dw[1] * cy + dw[2] * cz
    dsquare = 2.0 * dot(w, dw)
    dwork[1, 0] = dw_rate[1] * cz - dw_rate[2] * cy + dw[0] * along + w[0] * dalong
    dwork[1, 1] = -dw_rate[0] * cz + dw[1] * along + w[1] * dalong - dsquare * cy
    dwork[1, 2] = dw_rate[0] * cy + dw[2] * along + w[2] * dalong - dsquare * cz
    for k in range(3):
        dwork[2, k] = dwork[1, k] + dot(daxes[k], work[0]) + dot(axes[k], dwork[0])
    dmoment[0] += mass * (cy * dwork[2, 2] - cz * dwork[2, 1])
    dmoment[1] += mass * cz * dwork[2, 0]
    dmoment[2] -= mass * cy * dwork[2, 0]
    for k in range(3):
        f = 0.0
        for o in range(3):
            f += mass * (dwork[1, o] * axes[o, k] + work[1, o] * daxes[o, k])
        for a in range(4):
            dF[a, k] += HERMITE_VALUES[i, a] * f


@inlined
def offset_mass(i, mass, cy, cz, axes, spin, G, V, H, M):
    """M (14, 14) += mass terms of the offset at strain point i, for the end velocities in the axes of section I.

    spin (3, 11) : of ``rotary_rows``. G (2, 3, 3) : of ``translation_mass``. V, H (3, 14) : set to the velocity of the
    reference axis, and to that of the mass centre relative to it.
    """
    V[:] = 0.0
    for j in range(3):
        for end in range(2):
            for k in range(3):
                V[j, 7 * end + k] = HERMITE_VALUES[i, 2 * end] * axes[j, k]
                g = axes[j, 0] * G[end, 0, k] + axes[j, 1] * G[end, 1, k] + axes[j, 2] * G[end, 2, k]
                V[j, 7 * end + 4 + k] = HERMITE_VALUES[i, 2 * end + 1] * g
    for k in range(11):
        column = 7 + k if k < 3 else (k if k < 7 else k + 3)
        H[0, column] = cz * spin[1, k] - cy * spin[2, k]
        H[1, column] = -cz * spin[0, k]
        H[2, column] = cy * spin[0, k]
    for j in range(3):
        for k in range(3):
            H[j, k] = -H[j, 7 + k]  # the chord is r_II - r_I
        for a in range(14):
            for b in range(14):
                M[a, b] += mass * (V[j, a] * H[j, b] + H[j, a] * V[j, b] + H[j, a] * H[j, b])


@inlined
def offset_energy(i, mass, cy, cz, axes, R1, w, x0, x1, gravity, work, out):
    """Add the terms of the offset at strain point i to out (8,), energies and momenta as in ``energy_momentum``.

    w (3,) : spin of the section, section axes. x0, x1 (4, 3) : x and its rates, inertial axes. work : (6, 3).
    """
    c, h, r, velocity, arm = work[0], work[1], work[2], work[3], work[4]
    for k in range(3):
        c[k] = 0.0
        h[k] = 0.0
        for o in range(3):
            # section axes, inertial components
            t, m, n = R1[k, o] * axes[0, o], R1[k, o] * axes[1, o], R1[k, o] * axes[2, o]
            c[k] += cy * m + cz * n
            h[k] += (w[1] * cz - w[2] * cy) * t - w[0] * cz * m + w[0] * cy * n
    value_at(i, x0, r)
    value_at(i, x1, velocity)
    out[1] -= mass * dot(gravity, c)
    out[0] += mass * (dot(velocity, h) + 0.5 * dot(h, h))
    for k in range(3):
        out[2 + k] += mass * h[k]
        velocity[k] += h[k]
    cross(r, h, arm)
    cross(c, velocity, work[5])
    for k in range(3):
        out[5 + k] += mass * (arm[k] + work[5, k])
