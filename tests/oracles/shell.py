"""Shells on chosen supports: equilibrium by Newton's method, and meshes that are not those of a surface."""

import numpy as np
from models import of_parts
from oracles.alone import Alone
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

import femb
from femb.elements.shell.mesh import ShellMesh
from femb.numerics import rotations
from femb.system.system import System

# The patch of MacNeal and Harder, 0.24 by 0.12.
PATCH = np.array(
    [[0, 0], [0.24, 0], [0.24, 0.12], [0, 0.12], [0.04, 0.02], [0.18, 0.03], [0.16, 0.08], [0.08, 0.08]], dtype=float
)
QUADS = np.array([[0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7], [4, 5, 6, 7]])


def patch_fields():
    """(8, 6) displacements and rotations of the nodes of the patch: constant strains, and constant curvatures."""
    x, y = PATCH.T
    membrane, bending = np.zeros((2, 8, 6))
    membrane[:, 0], membrane[:, 1] = 1e-3 * (x + 0.5 * y), 1e-3 * (y + 0.5 * x)
    bending[:, 2] = 1e-3 * (x * x + x * y + y * y) / 2.0
    bending[:, 3], bending[:, 4] = 1e-3 * (0.5 * x + y), -1e-3 * (x + 0.5 * y)
    return membrane, bending


def material(E, nu, density=1.0):
    return femb.Material(E, E / (2.0 * (1.0 + nu)), density)


def shell_on(mesh, direction=(1.0, 0.0, 0.0), **words):
    """A shell on a ShellMesh, which replaces that of its corners."""
    large = [[0, 0, 0], [1e3, 0, 0], [1e3, 1e3, 0], [0, 1e3, 0]]
    shell = femb.Shell("s", (1, 1), corners=large, **words)
    shell.__dict__["geometry"] = mesh
    object.__setattr__(shell, "direction", np.array(direction))
    return shell


def triangulated(mesh, first=0):
    """The mesh with two triangles in place of each quadrilateral, cut from its corner ``first``."""
    q = np.roll(mesh.quads, -first, axis=1)
    triangles = np.concatenate([q[:, [0, 1, 2]], q[:, [0, 2, 3]]])
    return ShellMesh(mesh.nodes, mesh.normals, q[:0], triangles, mesh.sets)


class Supported:
    """A free shell some of whose velocities are held; fixed (n, 6) bool by node.

    Velocities are those of the nodes: inertial axes, and rotations in the axes of the node.
    """

    def __init__(self, shell, fixed, gravity=(0.0, 0.0, 0.0)):
        model = of_parts(shell, gravity=gravity)
        self.system = System(model)
        layout = self.system.layout
        frames = layout.shells[shell.name].frames
        self.places = layout.frame_v[frames][:, None] + np.arange(6)
        self.in_q = layout.frame_q[frames]
        self.free = np.ones(self.system.n_v, dtype=bool)
        self.free[self.places[np.asarray(fixed)]] = False
        self.reference = np.array([layout.frames[k].position for k in frames])

    @property
    def batch(self):
        return self.system.batches[0]

    def loads(self, forces):
        """(n_v,) of forces and moments (n, 6) on the nodes."""
        f = np.zeros(self.system.n_v)
        f[self.places] = forces
        return f

    def stiffness(self, q, batch=None):
        still = np.zeros(self.system.n_v)
        alone = self.system.evaluation.of([batch or self.batch])
        return self.system.pattern.to_csc(alone.tangent(np.zeros(0), q, still, still)[1])

    def force(self, q):
        out, still = np.zeros((1, self.system.n_v)), np.zeros((1, self.system.n_v))
        Alone(self.system, self.batch).residual(np.zeros((1, 0)), q[None], still, still, out)
        return out[0]

    def linear(self, f):
        """(n, 6) displacements under small loads (n_v,)."""
        K = self.stiffness(self.system.q0)[np.ix_(self.free, self.free)]
        x = np.zeros(self.system.n_v)
        x[self.free] = splu(K.tocsc()).solve(f[self.free])
        return x[self.places]

    def completed(self, wanted):
        """(n_v,) small displacements in equilibrium, those of the held nodes being those of wanted (n, 6)."""
        K = self.stiffness(self.system.q0).toarray()
        found = np.zeros(self.system.n_v)
        found[self.places] = wanted
        found[self.free] = 0.0
        found[self.free] = cho_solve(cho_factor(K[np.ix_(self.free, self.free)]), -(K @ found)[self.free])
        return found

    def rounding(self, found):
        """(n_v,) errors that rounding may leave in displacements found by a linear solution.

        Cholesky's method solves a matrix that differs from K by n eps of sqrt(K_ii K_jj), which also bounds what
        cancels in sums over elements; so the error is within n eps |K^-1| d (d, |x|), d the roots of the diagonal:
        weak drilling beside the membrane, D66 beside A66 times the area, is what loses most.
        """
        K = self.stiffness(self.system.q0).toarray()
        inverse, d = np.abs(np.linalg.inv(K[np.ix_(self.free, self.free)])), np.sqrt(np.diag(K))
        errors = np.zeros(self.system.n_v)
        errors[self.free] = inverse @ d[self.free] * (d @ np.abs(found))
        return self.system.n_v * np.finfo(float).eps * errors

    def moved(self, q, x):
        q, steps = q.copy(), x[self.places]
        for i, step in zip(self.in_q, steps, strict=True):
            q[i : i + 3] += step[:3]
            q[i + 3 : i + 7] = rotations.multiply(q[i + 3 : i + 7], rotations.exponential(step[3:]))
        return q

    def equilibrium(self, f, q=None, limit=0.6, most=60):
        """q under loads (n_v,) from q, by equation (15) of the theory, and the number of iterations."""
        q, none = (self.system.q0 if q is None else q).copy(), np.zeros(0)
        own = self.batch.own_strains(none, q, np.zeros(self.system.n_v))
        first = 0.0
        for count in range(1, most + 1):
            K = self.stiffness(q, self.batch.strained(q, own))[np.ix_(self.free, self.free)]
            residual = (f - self.force(q))[self.free]
            x = np.zeros(self.system.n_v)
            x[self.free] = splu(K.tocsc()).solve(residual)
            work = abs(x[self.free] @ residual)
            first = max(first, work)
            turn = np.linalg.norm(x[self.places][:, 3:], axis=1).max()
            share = min(1.0, limit / turn) if turn else 1.0
            own = own + share * (self.batch.own_strains(none, q, x) - own)
            q = self.moved(q, share * x)
            if work <= 1e-16 * first:
                return q, count
        raise AssertionError("no equilibrium")

    def pushed(self, f, node, component, targets, limit=0.6, most=40):
        """Factors of the load f (n_v,) at which the displacement of a node along a component is each of the targets, by
        equation (15) with the factor as an unknown, and the numbers of iterations."""
        q, load, place, none = self.system.q0.copy(), 0.0, self.places[node, component], np.zeros(0)
        own, loads, counts = self.batch.own_strains(none, q, np.zeros(self.system.n_v)), [], []
        for target in targets:
            for count in range(1, most + 1):
                K = self.stiffness(q, self.batch.strained(q, own))[np.ix_(self.free, self.free)]
                x = np.zeros((self.system.n_v, 2))
                x[self.free] = splu(K.tocsc()).solve(np.stack([load * f - self.force(q), f], axis=1)[self.free])
                change = (target - self.displacements(q)[node, component] - x[place, 0]) / x[place, 1]
                x = x[:, 0] + change * x[:, 1]
                share = min(1.0, limit / np.linalg.norm(x[self.places][:, 3:], axis=1).max())
                own = own + share * (self.batch.own_strains(none, q, x) - own)
                q, load = self.moved(q, share * x), load + share * change
                if np.abs(x[self.places][:, :3]).max() < 1e-9 * abs(target):
                    loads.append(load)
                    counts.append(count)
                    break
            else:
                raise AssertionError(f"no equilibrium at {target}")
        return np.array(loads), counts

    def displacements(self, q):
        return np.array([q[i : i + 3] for i in self.in_q]) - self.reference
