"""Closed forms of one joint: null space, inverse, and H2' by a complex step."""

import numpy as np
import pytest

from femb.formulations.reduced import matrices as table2
from femb.formulations.reduced.matrices import Pair
from femb.numerics.rotations import cross_matrix, normalise, rotation_matrix

TINY = 1e-30


def rotation(axis, angle):
    """About a unit axis, analytic in the angle."""
    K = cross_matrix(np.asarray(axis, dtype=float))
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def unit(rng):
    x = rng.standard_normal(3)
    return x / np.linalg.norm(x)


class Motion:
    """Two bodies turning at constant relative rates: c about g of b by alpha, then about f of c by beta."""

    def __init__(self, rng, held, angle):
        self.A_b, self.w_b = rotation_matrix(normalise(rng.standard_normal(4))), rng.standard_normal(3)
        self.p, self.s = rng.standard_normal((2, 3))
        self.g = unit(rng)
        across = np.cross(self.g, unit(rng))
        across /= np.linalg.norm(across)
        self.h = np.cross(self.g, across)
        # f in b at alpha = 0, at the angle from g for one held axis, across g and h for two
        if held == 2:
            self.f0 = across
            self.axes = np.stack([self.g, self.h], axis=1)
        else:
            self.f0 = np.cos(angle) * self.g + np.sin(angle) * across
            self.axes = self.g[:, None]
        self.held, self.mount = held, rotation_matrix(normalise(rng.standard_normal(4)))
        self.f = self.mount.T @ self.f0
        self.angles, self.rates = rng.standard_normal((2, 2))
        self.w_c_free = rng.standard_normal(3)

    def pair(self, h=0.0):
        """At the time h, complex or not."""
        spin = np.linalg.norm(self.w_b)
        A_b = self.A_b @ rotation(self.w_b / spin, spin * h)
        beta, alpha = self.angles + h * self.rates
        alpha_rate = self.rates[1] if self.held == 1 else 0.0
        alpha = alpha if self.held == 1 else 0.0
        about_g, about_f = rotation(self.g, alpha), rotation(self.f, beta)
        A_c = A_b @ about_g @ self.mount @ about_f
        w = about_f.T @ self.mount.T @ self.g * alpha_rate + self.f * self.rates[0]
        # body components of b's angular velocity carried into c
        w_c = A_c.T @ A_b @ self.w_b + w
        return Pair(A_b, A_c, self.w_b, w_c, self.p, self.s, self.f, self.axes)


def free_pair(motion, h=0.0):
    """Both bodies turning at constant rates, for the spherical joint."""
    spins = [np.linalg.norm(each) for each in (motion.w_b, motion.w_c_free)]
    A_b = motion.A_b @ rotation(motion.w_b / spins[0], spins[0] * h)
    A_c = motion.mount @ rotation(motion.w_c_free / spins[1], spins[1] * h)
    return Pair(A_b, A_c, motion.w_b, motion.w_c_free, motion.p, motion.s)


CASES = [
    pytest.param("spherical", 1, np.pi / 2, id="spherical"),
    pytest.param("rotation", 1, np.pi / 2, id="perpendicular"),
    pytest.param("rotation", 1, 0.9, id="angle 0.9"),
    pytest.param("rotation", 2, np.pi / 2, id="parallel"),
    pytest.param("joint", 1, np.pi / 2, id="universal"),
    pytest.param("joint", 1, 0.9, id="universal 0.9"),
    pytest.param("joint", 2, np.pi / 2, id="revolute"),
]


@pytest.mark.parametrize(("kind", "held", "angle"), CASES)
@pytest.mark.parametrize("seed", range(3))
def test_table_2(kind, held, angle, seed):
    """Phi_q H2 = 0, [H1 H2] = [Phi_q; H2^+]^-1, and H2' the rate of H2."""
    motion = Motion(np.random.default_rng(seed), held, angle)

    def forms(h=0.0):
        return getattr(table2, kind)(free_pair(motion, h) if kind == "spherical" else motion.pair(h))

    found = forms()
    both = np.vstack([found.Phi_q, found.H2_inverse]) @ np.hstack([found.H1, found.H2])
    np.testing.assert_allclose(both, np.eye(len(both)), atol=1e-13)
    rate = forms(1j * TINY).H2.imag / TINY
    np.testing.assert_allclose(found.H2_rate, rate, atol=1e-13 * np.max(np.abs(rate), initial=1.0))
    assert np.max(np.abs(rate)) > 0.01
    # Ha v = Hb u, and the rate of it
    np.testing.assert_allclose(np.linalg.solve(found.Ha, found.Hb), found.H2, atol=1e-13)
    right = found.Hb_rate - found.Ha_rate @ found.H2
    np.testing.assert_allclose(np.linalg.solve(found.Ha, right), found.H2_rate, atol=1e-12)
    for word in ("Ha", "Hb"):
        wanted = getattr(forms(1j * TINY), word).imag / TINY
        np.testing.assert_allclose(getattr(found, f"{word}_rate"), wanted, atol=1e-12)


def test_the_factors_that_the_source_leaves_out():
    """Without (Y^T Y)^-1, Phi_q H1 is the square of the sine of the angle between the axes."""
    motion = Motion(np.random.default_rng(4), 1, 0.9)
    found = table2.rotation(motion.pair())
    Y = found.Phi_q[0, 9:]
    np.testing.assert_allclose(Y @ Y, np.sin(0.9) ** 2, rtol=1e-13)
    np.testing.assert_allclose(found.Phi_q @ found.H1, np.eye(1), rtol=1e-13)
