"""Beams and rigid bodies read straight from the theory, for tests: positions, orientations and strains by their
definitions, every derivative by automatic differentiation. Nothing is shared with the kernels but their parameters.

Element coordinates are those of its frames, q = (r, p) each, and the two end strains; system coordinates q (n_q,) and
velocities v (n_v,) are numbered as in femb. Source: docs/theory/beam.md.
"""

from copy import copy
from functools import cached_property

import autograd.numpy as np
import numpy
from autograd import grad, make_jvp

from femb.elements.beam import strain as layout_of_data
from femb.elements.beam.batch import BeamBatch
from femb.elements.body.mass_batch import MassBatch
from femb.numerics.rotations import from_matrix


def gauss(count):
    """Points and weights on [0, 1]."""
    points, weights = numpy.polynomial.legendre.leggauss(count)
    return 0.5 + 0.5 * points, 0.5 * weights


def dot(a, b):
    return np.sum(a * b, axis=-1)


# Products as tensors: e_j e_k = sum_i PRODUCT[i, j, k] e_i of quaternions, and CROSS of vectors. One einsum is much
# quicker to differentiate than components that are taken apart and stacked.
CROSS = numpy.zeros((3, 3, 3))
for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    CROSS[i, j, k], CROSS[i, k, j] = 1.0, -1.0
PRODUCT = numpy.zeros((4, 4, 4))
PRODUCT[0] = numpy.diag([1.0, -1.0, -1.0, -1.0])
PRODUCT[1:, 0, 1:] = PRODUCT[1:, 1:, 0] = numpy.eye(3)
PRODUCT[1:, 1:, 1:] += CROSS


def cross(a, b):
    return np.einsum("ijk,...j,...k->...i", CROSS, a, b)


def multiply(p, q):
    """Hamilton product over the last axis."""
    return np.einsum("ijk,...j,...k->...i", PRODUCT, p, q)


def conjugate(p):
    return p * numpy.array([1.0, -1.0, -1.0, -1.0])


def rotate(p, x):
    """R(p) x for unit p."""
    zero = np.zeros_like(x[..., :1])
    return multiply(multiply(p, np.concatenate([zero, x], axis=-1)), conjugate(p))[..., 1:]


def spin(p, rate):
    """2 E(p) rate: the spin in body axes of a unit quaternion that changes at the given rate."""
    return 2.0 * multiply(conjugate(p), rate)[..., 1:]


def turning_force(p, torque):
    """2 E(p)^T torque: the force on a quaternion that does the work of a torque in body axes."""
    return 2.0 * multiply(p, np.concatenate([np.zeros_like(torque[..., :1]), torque], axis=-1))


def change(function, x, direction):
    """Directional derivative."""
    return make_jvp(function)(x)(direction)[1]


def changes(function, x, directions):
    """Directional derivatives (..., m) along the columns of directions (n, m).

    Forward mode: a system has fewer velocities than points with mass or strains, so this is quicker than reverse mode.
    """
    along = make_jvp(function)(x)
    return np.stack([along(direction)[1] for direction in directions.T], axis=-1)


class Beam:
    """One element; ``data`` and ``ends`` are rows of BeamBatch. twist_rule (points, weights (4, n)) replaces the fine
    quadrature of the parallel transport."""

    points, weights = gauss(3)

    def __init__(self, data, ends, gravity, twist_rule=None):
        at = layout_of_data
        self.length, self.mass, self.damping = data[at.LENGTH], data[at.MASS], data[at.DAMPING]
        self.inertia = data[at.INERTIA : at.INERTIA + 3]
        self.source = data[at.SOURCE] != 0.0
        self.stiffness = data[at.STIFFNESS : at.STIFFNESS + 16].reshape(4, 4)
        self.reference = data[at.REFERENCE : at.REFERENCE + 12].reshape(3, 4)
        self.mass_axis = numpy.array([0.0, *data[at.OFFSET : at.OFFSET + 2]])
        self.ends = [(end[1:4], from_matrix(end[4:13].reshape(3, 3))) for end in ends]
        self.gravity = gravity
        self.twist_rule = twist_rule

    def end(self, k, frame):
        """Position and quaternion of the section at end k."""
        offset, rotation = self.ends[k]
        p = frame[3:7] / np.sqrt(dot(frame[3:7], frame[3:7]))
        return frame[:3] + rotate(p, offset), multiply(p, rotation)

    def centreline(self, frames, eps, x):
        """r, dr/dxi and d2r/dxi2 (n, 3) at points x (n,), and the quaternions of both ends."""
        (r1, p1), (r2, p2) = self.end(0, frames[0]), self.end(1, frames[1])
        axis = numpy.array([1.0, 0.0, 0.0])
        g1 = self.length * (1.0 + eps[0]) * rotate(p1, axis)
        g2 = self.length * (1.0 + eps[1]) * rotate(p2, axis)
        x = numpy.asarray(x)[:, None]
        r = (1 - 3 * x**2 + 2 * x**3) * r1 + x * (1 - x) ** 2 * g1 + (3 * x**2 - 2 * x**3) * r2 + x**2 * (x - 1) * g2
        dr = 6 * (x**2 - x) * r1 + (1 - 4 * x + 3 * x**2) * g1 + 6 * (x - x**2) * r2 + (3 * x**2 - 2 * x) * g2
        ddr = (12 * x - 6) * r1 + (6 * x - 4) * g1 + (6 - 12 * x) * r2 + (6 * x - 2) * g2
        return r, dr, ddr, p1, p2

    @staticmethod
    def twist(p1, p2):
        """Twist of the second section about the tangent, whatever the signs of the quaternions."""
        mu = multiply(conjugate(p1), p2)
        sign = 1.0 if mu[0] >= 0.0 else -1.0
        return 2.0 * np.arctan2(sign * mu[1], sign * mu[0])

    @staticmethod
    def swung(dr, ddr, p1):
        """Quaternion p_I x pi (n, 4) of the swung section, and its derivative by xi."""
        gamma = np.sqrt(dot(dr, dr))[:, None]
        t = dr / gamma
        dt = (ddr - dot(t, ddr)[:, None] * t) / gamma
        one, two, three = (rotate(p1, axis) for axis in numpy.eye(3))
        s = np.sqrt(2.0 * (1.0 + dot(t, one)))
        ds = dot(dt, one) / s
        zero = np.zeros_like(s)
        pi = np.stack([s / 2.0, zero, -dot(t, three) / s, dot(t, two) / s], axis=-1)
        dpi = np.stack(
            [
                ds / 2.0, zero, -dot(dt, three) / s + dot(t, three) * ds / s**2,
                dot(dt, two) / s - dot(t, two) * ds / s**2,
            ], axis=-1,
        )  # fmt: skip
        return multiply(p1, pi), multiply(p1, dpi)

    def transport_rate(self, frames, eps, x):
        """Rate by xi at which parallel transport turns against the swung section."""
        _, dr, ddr, p1, _ = self.centreline(frames, eps, x)
        return -spin(*self.swung(dr, ddr, p1))[:, 0]

    def transport(self, frames, eps):
        """Turn of parallel transport against the swung section at the three points and at the end (4,)."""
        if self.twist_rule is not None:
            points, weights = self.twist_rule
            return np.dot(weights, self.transport_rate(frames, eps, points))
        points, weights = gauss(20)
        return np.array(
            [b * np.dot(weights, self.transport_rate(frames, eps, b * points)) for b in (*self.points, 1.0)]
        )

    def strains(self, frames, eps):
        """(3, 4): axial strain, twist and curvatures about y and z, kappa = 2 E(p) dp/dx with uniform twist."""
        _, dr, ddr, p1, p2 = self.centreline(frames, eps, self.points)
        sigma = self.transport(frames, eps)
        rate = self.transport_rate(frames, eps, self.points)
        whole = self.twist(p1, p2) - sigma[3]
        psi = sigma[:3] + self.points * whole
        dpsi = rate + whole
        p, dp = self.swung(dr, ddr, p1)
        zero = np.zeros_like(psi)
        b = np.stack([np.cos(psi / 2), np.sin(psi / 2), zero, zero], axis=-1)
        db = np.stack([-np.sin(psi / 2) * dpsi / 2, np.cos(psi / 2) * dpsi / 2, zero, zero], axis=-1)
        kappa = spin(multiply(p, b), multiply(dp, b) + multiply(p, db)) / self.length
        gamma = np.sqrt(dot(dr, dr))
        stretch = gamma / self.length if self.source else np.ones(3)
        return np.stack([gamma / self.length - 1.0, kappa[:, 0], stretch * kappa[:, 1], stretch * kappa[:, 2]], axis=-1)

    def inner_strains(self, e):
        """(3, 4) of the strains e per unit of the inner twist 4 xi (1 - xi): its rate, curvatures about turned axes."""
        b, twist = 4.0 * self.points * (1.0 - self.points), 4.0 * (1.0 - 2.0 * self.points) / self.length
        return np.stack([numpy.zeros(3), twist, b * e[:, 3], -b * e[:, 2]], axis=-1)

    def natural(self, frames, eps):
        """The eight numbers X that the strains depend on: chord, end derivatives in the axes of end I, twist."""
        (r1, p1), (r2, p2) = self.end(0, frames[0]), self.end(1, frames[1])
        chord = rotate(conjugate(p1), r2 - r1)
        tangent = rotate(multiply(conjugate(p1), p2), numpy.array([1.0, 0.0, 0.0]))
        s1, s2 = self.length * (1.0 + eps[0]), self.length * (1.0 + eps[1])
        return np.concatenate([chord, np.array([s1]), s2 * tangent, np.array([self.twist(p1, p2)])])

    def natural_strains(self, X):
        """Strains (3, 4) of the element with natural coordinates X: end I at the origin, its section in the axes."""
        s2 = np.sqrt(dot(X[4:7], X[4:7]))
        t = X[4:7] / s2
        h = np.sqrt(2.0 * (1.0 + t[0]))
        swing = np.array([h / 2.0, 0.0, -t[2] / h, t[1] / h])
        p2 = multiply(swing, np.array([np.cos(X[7] / 2), np.sin(X[7] / 2), 0.0, 0.0]))
        bare = copy(self)
        bare.ends = [(numpy.zeros(3), numpy.array([1.0, 0.0, 0.0, 0.0]))] * 2
        one = numpy.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        return bare.strains([one, np.concatenate([X[:3], p2])], [X[3] / self.length - 1.0, s2 / self.length - 1.0])

    def sections(self, frames, eps):
        """Quaternions (3, 4) of the sections that carry the rotary inertia: swing, then alpha xi."""
        _, dr, ddr, p1, p2 = self.centreline(frames, eps, self.points)
        p, _ = self.swung(dr, ddr, p1)
        psi = self.points * self.twist(p1, p2)
        zero = np.zeros_like(psi)
        return multiply(p, np.stack([np.cos(psi / 2), np.sin(psi / 2), zero, zero], axis=-1))

    def mass_centres(self, frames, eps):
        """(6, 3) at the strain points: mass centres of the sections, then the points of the reference axis."""
        axis = self.centreline(frames, eps, self.points)[0]
        centres = axis + rotate(self.sections(frames, eps), numpy.tile(self.mass_axis, (3, 1)))
        return np.concatenate([centres, axis])

    mass_points, mass_weights = gauss(6)

    def positions(self, frames, eps):
        """Centreline (6, 3) at the points of the mass quadrature, which is exact."""
        return self.centreline(frames, eps, self.mass_points)[0]


class Oracle:
    """All beams, rigid bodies, point masses on frames and point loads of a System."""

    def __init__(self, system, twist_rule=None):
        layout = system.layout
        self.n_q, self.n_v, self.fixed = system.n_q, system.n_v, layout.fixed
        self.places = [
            (layout.frame_q[k], layout.frame_v[k], frame.freedom)
            for k, frame in enumerate(layout.frames)
            if frame.freedom
        ]
        self.places += [(i, j, 1) for i, j in zip(layout.internal_q, layout.internal_v, strict=True)]
        self.places.sort()
        self.beams, self.masses = [], []
        self.gravity = numpy.array(system.model.gravity)
        self.loads = []
        for load in system.model.loads.values():
            station = layout.station(load.on)
            self.loads.append((load, (layout.frame_q[station.frame], station.offset, station.rotation)))
        for batch in system.batches:
            if isinstance(batch, BeamBatch):
                for index, ends, data in zip(batch.index, batch.ends, batch.data, strict=True):
                    self.beams.append((index, Beam(data, ends, self.gravity, twist_rule)))
            elif isinstance(batch, MassBatch):
                for (i, _), data in zip(batch.index, batch.data, strict=True):
                    self.masses.append((i, data[0], data[1:4], data[4:13].reshape(3, 3)))

    # Coordinates

    def rates(self, q, v):
        """H(q) v, with p' = p x (0, omega) / 2."""
        pieces = []
        for i, j, freedom in self.places:
            pieces.append(v[j : j + min(freedom, 3)])
            if freedom == 6:
                omega = np.concatenate([numpy.zeros(1), v[j + 3 : j + 6]])
                pieces.append(0.5 * multiply(q[i + 3 : i + 7], omega))
        return np.concatenate(pieces)

    def map(self, q):
        """H(q) (n_q, n_v)."""
        return np.stack([self.rates(q, column) for column in numpy.eye(self.n_v)], axis=-1)

    def second_rates(self, q, v, a):
        """q'' for v' = a."""
        return self.rates(q, a) + change(lambda x: self.rates(x, v), q, self.rates(q, v))

    def arguments(self, index, q):
        frames = [q[i : i + 7] if i >= 0 else self.fixed[-1 - i] for i in index[:2]]
        return frames, [q[index[4]], q[index[5]]]

    # Matter: points with mass and sections with inertia

    def matter(self, q):
        """Positions (n, 3) of all points with mass, quaternions (m, 4) of all sections and bodies, in one array."""
        points, sections = [], []
        for index, beam in self.beams:
            arguments = self.arguments(index, q)
            points += [beam.positions(*arguments), beam.mass_centres(*arguments)]
            sections.append(beam.sections(*arguments))
        for i, _, offset, _ in self.masses:
            p = q[i + 3 : i + 7] / np.sqrt(dot(q[i + 3 : i + 7], q[i + 3 : i + 7]))
            points.append((q[i : i + 3] + rotate(p, offset))[None])
            sections.append(p[None])
        return np.concatenate([np.ravel(np.concatenate(points)), np.ravel(np.concatenate(sections))])

    @cached_property
    def mass_values(self):
        """Masses (n,) of the points and inertias (m, 3, 3) of the sections."""
        masses, inertias = [], []
        for _, beam in self.beams:
            masses += list(beam.mass * beam.length * beam.mass_weights)
            # an offset takes mass from the reference axis at the strain points and puts it on the mass axis
            moved = beam.mass * beam.length * beam.weights
            masses += [*moved, *-moved]
            inertias += [weight * beam.length * numpy.diag(beam.inertia) for weight in beam.weights]
        for _, mass, _, inertia in self.masses:
            masses.append(mass)
            inertias.append(inertia)
        return numpy.array(masses), numpy.array(inertias)

    def split(self, matter):
        n = 3 * len(self.mass_values[0])
        return np.reshape(matter[:n], (-1, 3)), np.reshape(matter[n:], (-1, 4))

    def motion(self, q, rates):
        """Positions, quaternions, velocities and spins (body axes) of all matter."""
        here, moving = make_jvp(self.matter)(q)(rates)
        (r, p), (velocity, p_rate) = self.split(here), self.split(moving)
        return r, p, velocity, spin(p, p_rate)

    def kinetic(self, q, rates):
        """T(q, q')."""
        masses, inertias = self.mass_values
        _, _, velocity, omega = self.motion(q, rates)
        return 0.5 * np.sum(masses * dot(velocity, velocity)) + 0.5 * np.einsum("ni,nij,nj->", omega, inertias, omega)

    def momentum(self, q, rates):
        """Linear momentum and angular momentum about the origin (6,)."""
        masses, inertias = self.mass_values
        r, p, velocity, omega = self.motion(q, rates)
        linear = masses[:, None] * velocity
        angular = cross(r, linear)
        own = rotate(p, np.einsum("nij,nj->ni", inertias, omega))
        return np.concatenate([np.sum(linear, axis=0), np.sum(angular, axis=0) + np.sum(own, axis=0)])

    def weight_potential(self, q):
        masses, _ = self.mass_values
        return -np.sum(masses * np.dot(self.split(self.matter(q))[0], self.gravity))

    # Strain

    def strains(self, q):
        """(n, 3, 4) of all beams."""
        return np.stack([beam.strains(*self.arguments(index, q)) for index, beam in self.beams])

    @cached_property
    def stiffness(self):
        """(n, 3, 4, 4): weight times length times section stiffness, at every point; dampings and references."""
        weighted = [w[:, None, None] * b.length * b.stiffness for _, b in self.beams for w in (b.weights,)]
        damping = numpy.array([b.damping for _, b in self.beams])[:, None, None]
        return numpy.array(weighted), damping, numpy.array([b.reference for _, b in self.beams])

    def with_inner_twists(self, q, twists):
        """(n, 3, 4) strains with those of given inner twists (n,)."""
        each = zip(self.beams, self.strains(q), twists, strict=True)
        return np.stack([e + twist * beam.inner_strains(e) for (_, beam), e, twist in each])

    def inner_twists(self, q, strains):
        """(n,) inner twists at which the energy of these strains (n, 3, 4) is least, and their strains per unit."""
        c = np.stack([beam.inner_strains(e) for (_, beam), e in zip(self.beams, self.strains(q), strict=True)])
        moment = np.einsum("nij,nijk,nik->n", c, self.stiffness[0], strains)
        stiffness = np.einsum("nij,nijk,nik->n", c, self.stiffness[0], c)
        return -moment / (stiffness + 1e-30), c  # none without stiffness

    def strain_energy(self, q):
        stiffness, _, reference = self.stiffness
        e = self.with_inner_twists(q, self.inner_twists(q, self.strains(q) - reference)[0]) - reference
        return 0.5 * np.einsum("nij,nijk,nik->", e, stiffness, e)

    def potential(self, q):
        return (self.strain_energy(q) if self.beams else 0.0) + self.weight_potential(q)

    def damped(self, q, v):
        """Strain rates and damping stresses (n, 3, 4), at the rates of inner twist that lose least; inner twists."""
        stiffness, damping, reference = self.stiffness
        twists, _ = self.inner_twists(q, self.strains(q) - reference)
        rate = change(lambda x: self.with_inner_twists(x, twists), q, self.rates(q, v))
        inner, c = self.inner_twists(q, rate)
        rate = rate + inner[:, None, None] * c
        return rate, damping * np.einsum("nijk,nik->nij", stiffness, rate), twists

    def dissipation(self, q, v):
        """Power lost in dampers."""
        rate, stress, _ = self.damped(q, v)
        return np.sum(stress * rate)

    # Generalized forces

    def to_velocities(self, q, force):
        """H^T force: a quaternion's part is half the vector part of p* f."""
        pieces, i = [], 0
        for _, _, freedom in self.places:
            pieces.append(force[i : i + min(freedom, 3)])
            i += min(freedom, 3)
            if freedom == 6:
                pieces.append(0.5 * multiply(conjugate(q[i : i + 4]), force[i : i + 4])[1:])
                i += 4
        return np.concatenate(pieces)

    def elastic_force(self, q):
        return self.to_velocities(q, grad(self.strain_energy)(q))

    def damping_force(self, q, v):
        _, stress, twists = self.damped(q, v)
        return self.to_velocities(q, grad(lambda x: np.sum(self.with_inner_twists(x, twists) * stress))(q))

    def mass_matrix(self, q):
        masses, inertias = self.mass_values
        J = changes(self.matter, q, self.map(q))
        n = 3 * len(masses)
        _, p = self.split(self.matter(q))
        Jr = np.reshape(J[:n], (-1, 3, self.n_v))
        Jp = np.reshape(J[n:], (-1, 4, self.n_v))
        Jw = np.stack([spin(p, Jp[:, :, k]) for k in range(self.n_v)], axis=-1)
        return np.einsum("n,nia,nib->ab", masses, Jr, Jr) + np.einsum("nia,nij,njb->ab", Jw, inertias, Jw)

    def lagrange(self, q, v, a):
        """H^T (d/dt dT/dq' - dT/dq + dV/dq): inertia, elastic force and weight by Lagrange's equations."""
        rates, second = self.rates(q, v), self.second_rates(q, v, a)
        n = self.n_q
        both = np.concatenate([rates, second])
        momentum = lambda x: grad(self.kinetic, 1)(x[:n], x[n:])  # noqa: E731
        along = change(momentum, np.concatenate([q, rates]), both)
        return self.to_velocities(q, along - grad(self.kinetic, 0)(q, rates) + grad(self.potential)(q))

    def inertia_force(self, q, v, a):
        """H^T (the work of m r'' and J omega' + omega x J omega): inertia force by d'Alembert's principle."""
        masses, inertias = self.mass_values
        rates, second = self.rates(q, v), self.second_rates(q, v, a)
        velocity = lambda x: change(self.matter, x[: self.n_q], x[self.n_q :])  # noqa: E731
        acceleration = change(velocity, np.concatenate([q, rates]), np.concatenate([rates, second]))
        _, p, _, omega = self.motion(q, rates)
        r_second, p_second = self.split(acceleration)
        alpha = spin(p, p_second)  # E(p') p' is zero
        torque = np.einsum("nij,nj->ni", inertias, alpha)
        torque = torque + cross(omega, np.einsum("nij,nj->ni", inertias, omega))
        force = masses[:, None] * (r_second - self.gravity)
        held = np.concatenate([np.ravel(force), np.ravel(turning_force(p, torque))])
        return self.to_velocities(q, grad(lambda x: np.dot(self.matter(x), held))(q))

    def load_force(self, q, u):
        """Generalized force of the point loads, from their virtual work."""
        total = numpy.zeros(self.n_v)
        inputs = iter(u)
        for load, (i, offset, rotation) in self.loads:
            p = q[i + 3 : i + 7]
            axes = multiply(p, rotation)
            for value, is_force in ((load.force, True), (load.torque, False)):
                if value is None:
                    continue
                vector = next(inputs) * numpy.array(value)
                vector = rotate(axes, vector) if load.frame == "body" else vector
                if is_force:
                    work = lambda x: np.dot(x[i : i + 3] + rotate(x[i + 3 : i + 7], offset), vector)  # noqa: B023, E731
                else:
                    held = turning_force(p, rotate(conjugate(p), vector))
                    work = lambda x: np.dot(x[i + 3 : i + 7], held)  # noqa: B023, E731
                total = total + self.to_velocities(q, grad(work)(q))
        return total

    def residual(self, q, v, a, u=()):
        """Inertia, elastic and damping force less loads and weight."""
        total = self.inertia_force(q, v, a)
        if self.beams:
            total = total + self.elastic_force(q) + self.damping_force(q, v)
        return total - self.load_force(q, u) if len(u) else total

    def residual_change(self, q, v, a, dx, dv, u=()):
        """Change of the residual with q' = H dx and v' = dv, a and u held."""
        n = self.n_q
        both = np.concatenate([np.dot(self.map(q), dx), dv])
        return change(lambda x: self.residual(x[:n], x[n:], a, u), np.concatenate([q, v]), both)

    def director_stress_change(self, q, v, dx):
        """Change, with q' = H dx, of the force H^T (dX/dq)^T n at held forces n on the natural coordinates X."""
        stiffness, _, reference = self.stiffness
        _, stress, twists = self.damped(q, v)
        stress = stress + np.einsum("nijk,nik->nij", stiffness, self.with_inner_twists(q, twists) - reference)
        held = []
        for (index, beam), each, twist in zip(self.beams, stress, twists, strict=True):
            X = beam.natural(*self.arguments(index, q))

            def work(x, beam=beam, each=each, twist=twist):
                e = beam.natural_strains(x)
                return np.sum((e + twist * beam.inner_strains(e)) * each)

            held.append(grad(work)(X))

        def work(x):
            forces = zip(self.beams, held, strict=True)
            return sum(np.dot(n, beam.natural(*self.arguments(index, x))) for (index, beam), n in forces)

        force = lambda x: self.to_velocities(x, grad(work)(x))  # noqa: E731
        return change(force, q, np.dot(self.map(q), dx))

    def strain_rows(self, q):
        """de/dq H (n, 3, 4, n_v) at held inner twists."""
        twists, _ = self.inner_twists(q, self.strains(q) - self.stiffness[2])
        return changes(lambda x: self.with_inner_twists(x, twists), q, self.map(q))

    def softened(self, q, rows, stiffness):
        """rows^T D rows with inner twists that follow, the strains by them held; ``rows`` of ``strain_rows``."""
        _, c = self.inner_twists(q, self.strains(q))
        z = np.einsum("nij,nijk,nikb->nb", c, stiffness, rows)
        inner = np.einsum("nij,nijk,nik->n", c, stiffness, c)
        return np.einsum("nija,nijk,nikb->ab", rows, stiffness, rows) - np.einsum("na,n,nb->ab", z, 1.0 / inner, z)

    def material_tangent(self, q, rows):
        """(de/dq H)^T D (de/dq H) of ``strain_rows``."""
        return self.softened(q, rows, self.stiffness[0])

    def damping_tangent(self, q, rows):
        """d(damping force)/dv of ``strain_rows``."""
        stiffness, damping, _ = self.stiffness
        return self.softened(q, rows, damping[..., None] * stiffness)
