"""Sections between nodes: pictures and meshes show the interpolation that forces are computed with."""

import numpy as np
from models import refuses

from femb.base.errors import ResultError
from femb.elements.beam import strain as beam_strain
from femb.elements.beam.results import BeamResults
from femb.elements.beam.shape import beam_sections, section_frames
from femb.elements.beam.strain import natural_coordinates, section_at
from femb.numerics import rotations
from femb.numerics.compiler.compile import kernel
from femb.pictures.parts import BeamLine

LENGTH = 0.7
POSITION = np.array([[0.3, -0.2, 1.0], [0.75, 0.2, 1.3]])
START = rotations.normalise(np.array([0.7, 0.3, -0.5, 0.2]))
BENT = rotations.exponential(np.array([0.4, 0.5, -0.6]))
QUATERNION = np.array([START, rotations.multiply(START, BENT)])
STRAIN = np.array([0.01, -0.02])


@kernel
def _section(X, slopes, psi, S):
    return section_at(X, slopes[0], slopes[1], slopes[2], psi, S)


def frames(xi):
    return section_frames((POSITION, QUATERNION), STRAIN, np.array(LENGTH), np.asarray(xi))


def test_ends_are_those_of_the_nodes():
    position, axes = frames([0.0, 1.0])
    np.testing.assert_allclose(position, POSITION, atol=1e-15)
    np.testing.assert_allclose(axes, rotations.rotation_matrix(QUATERNION), atol=1e-15)


def test_sections_are_those_of_the_kernels():
    """At the strain points, where loads act along beams and strains are taken."""
    R = rotations.rotation_matrix(QUATERNION)
    Q, X, S = np.empty((3, 3)), np.empty(8), np.empty((3, 3))
    natural_coordinates(POSITION[0], R[0], STRAIN[0], POSITION[1], R[1], STRAIN[1], LENGTH, Q, X)
    turned, e = np.empty(4), np.empty((3, 4))
    beam_strain.strains(X, LENGTH, False, turned, np.empty((4, 8)), e, np.empty((3, 4, 8)))
    _, axes = frames(beam_strain.POINTS)
    for i in range(3):
        g = _section(X, beam_strain.HERMITE[i], turned[i], S)
        np.testing.assert_allclose(axes[i], R[0] @ S, atol=1e-15)
        assert g == LENGTH * (1.0 + e[i, 0])


def test_twist_and_curvatures_are_the_strains():
    """The centreline stretches, and the axes turn along it, by the strains: R' = L R k~."""
    h, xi = 1e-4, beam_strain.POINTS
    (before, R0), (_, R), (after, R1) = (frames(xi + x) for x in (-h, 0.0, h))
    stretch = np.linalg.norm(after - before, axis=-1) / (2 * h * LENGTH)
    rate = np.swapaxes(R, -1, -2) @ (R1 - R0) / (2 * h * LENGTH)
    twist, curvatures = rate[:, 2, 1], np.stack([rate[:, 0, 2], rate[:, 1, 0]], axis=-1)
    Q, X, turned, e = np.empty((3, 3)), np.empty(8), np.empty(4), np.empty((3, 4))
    axes = rotations.rotation_matrix(QUATERNION)
    ends = POSITION[0], axes[0], STRAIN[0], POSITION[1], axes[1], STRAIN[1]
    natural_coordinates(*ends, LENGTH, Q, X)
    beam_strain.strains(X, LENGTH, False, turned, np.empty((4, 8)), e, np.empty((3, 4, 8)))
    np.testing.assert_allclose(stretch - 1.0, e[:, 0], atol=1e-6)
    np.testing.assert_allclose(twist, e[:, 1], atol=1e-5)
    np.testing.assert_allclose(curvatures, e[:, 2:], atol=1e-5)


def test_velocities_are_the_rates_of_positions():
    """At constant strain."""
    h, spin, velocity = (
        1e-5,
        np.array([[0.3, -0.2, 0.5], [0.1, 0.4, -0.3]]),
        np.array([[1.0, 2.0, 0.0], [0.5, 1.0, 2.0]]),
    )

    def recorded(t):
        return {
            "position": POSITION + t * velocity,
            "quaternion": rotations.multiply(QUATERNION, rotations.exponential(t * spin)), "velocity": velocity,
            "angular_velocity": spin, "strain": STRAIN[None], "element_length": np.array([LENGTH]),
            "corner": np.array([[1.0, 0.0, 0.0, 0.0]]),
        }  # fmt: skip

    xi = np.linspace(0.0, 1.0, 5)
    before, now, after = (beam_sections(recorded(t), xi) for t in (-h, 0.0, h))
    np.testing.assert_allclose((after.position - before.position) / (2 * h), now.velocity, atol=1e-9)


def test_a_beam_of_another_kind_is_not_drawn_as_one_of_ours():
    beam = BeamResults("beams/b", {"beams/b/element_length": np.array([LENGTH])}, {"beams/b": {"kind": "rope"}})
    refuses(r"beams/b: is of the kind 'rope', which is not in the catalogue here", BeamLine, beam, 2, error=ResultError)
