"""Quantities of shells in results: arrays of nodes and elements; T times, n nodes, e elements."""

from typing import Any, ClassVar

import numpy as np

from femb.base.errors import ResultError
from femb.base.quantity import IN_PLANE, Group, Quantity
from femb.base.types import Floats
from femb.elements.body.results import DISPLACEMENT, Moving, since_first

SIDES = ("behind", "in_front")  # of the normal


# Stresses of plies and surfaces, from the resultants. Source: docs/theory/shell.md, section 9.


def ply_stress_at(shell: Group, chosen: Any = slice(None)) -> Floats:
    """(k, e, p, 2, 3) Pa at the chosen output times. Raises ResultError: a wall of matrices, which has no plies."""
    if "ply_recovery" not in shell:
        why = "its wall is of matrices, its walls have unlike plies, or the file is of an earlier version"
        raise ResultError(f"{shell.path}: has no stresses: {why}")
    loads = np.concatenate([shell["membrane_force"][chosen], shell["bending_moment"][chosen]], axis=-1)
    stress: Floats = np.einsum("epsil,kel->kepsi", _by_element(shell["ply_recovery"]), loads)
    if "temperature" in shell:
        heat = np.stack([shell[word][chosen] for word in ("temperature", "temperature_gradient")], axis=-1)
        stress += np.einsum("epsil,kel->kepsi", _by_element(shell["ply_heat"]), heat)
    return stress


def _by_element(rows: Floats) -> Floats:
    """Rows of plies (e, p, 2, 3, l) of elements, or (1, p, 2, 3, l) of all."""
    return rows.reshape(-1, *rows.shape[-4:])


def surface_stress_at(shell: Group, chosen: Any = slice(None)) -> Floats:
    """(k, e, 2, 3) Pa at the chosen output times, in material axes."""
    stress = ply_stress_at(shell, chosen)
    outer = np.stack([stress[:, :, 0, 0], stress[:, :, -1, 1]], axis=2)
    # back by the opposite angle
    c, s = np.cos(shell["ply_angle"][[0, -1]]), np.sin(shell["ply_angle"][[0, -1]])
    along, across, shear = np.moveaxis(outer, -1, 0)
    parts = (
        c * c * along + s * s * across - 2.0 * c * s * shear,
        s * s * along + c * c * across + 2.0 * c * s * shear,
        c * s * (along - across) + (c * c - s * s) * shear,
    )
    return np.stack(parts, axis=-1)


def surface_von_mises(shell: Group) -> Floats:
    """(T, e, 2) Pa."""
    return von_mises(surface_stress_at(shell))


def von_mises(stress: Floats) -> Floats:
    """(...) Pa of plane stresses (..., 3): sqrt(s11^2 - s11 s22 + s22^2 + 3 s12^2)."""
    first, second, shear = np.moveaxis(stress, -1, 0)
    return np.asarray(np.sqrt(first * first - first * second + second * second + 3.0 * shear * shear))


def failure_index_at(shell: Group, chosen: Any = slice(None)) -> Floats:
    """(k, e, p, 2) at the chosen output times: 1/R with a R^2 + b R = 1, a and b the quadratic and the linear part of
    the criterion of Tsai and Wu, with the interaction -1/2.

    Raises ResultError: no ply has strengths.
    """
    stress = ply_stress_at(shell, chosen)
    if "ply_strengths" not in shell:
        raise ResultError(f"{shell.path}: has no failure index: give its plies strengths")
    tension, pressure, across, squeeze, shear = shell["ply_strengths"].T[..., None]
    s1, s2, s12 = np.moveaxis(stress, -1, 0)
    f11, f22 = 1.0 / (tension * pressure), 1.0 / (across * squeeze)
    a = f11 * s1 * s1 + f22 * s2 * s2 + (s12 / shear) ** 2 - np.sqrt(f11 * f22) * s1 * s2
    b = (1.0 / tension - 1.0 / pressure) * s1 + (1.0 / across - 1.0 / squeeze) * s2
    return np.asarray(0.5 * (b + np.sqrt(b * b + 4.0 * a)))


class ShellResults(Moving):
    """Motion of the nodes of a shell, and resultants and strains in the middles of its elements, material axes."""

    word: ClassVar[str] = "shell"
    of_nodes: ClassVar[bool] = True

    position = Quantity("(T, n, 3)", "m", "of the nodes, inertial axes", level="motion")
    quaternion = Quantity("(T, n, 4)", "-", "node to inertial, scalar first; z is the normal", level="motion")
    velocity = Quantity("(T, n, 3)", "m/s", "of the nodes, inertial axes", level="motion")
    angular_velocity = Quantity("(T, n, 3)", "rad/s", "axes of the nodes", level="motion")
    acceleration = Quantity("(T, n, 3)", "m/s2", "of the nodes, inertial axes")
    angular_acceleration = Quantity("(T, n, 3)", "rad/s2", "axes of the nodes")
    membrane_force = Quantity(
        "(T, e, 3)", "N/m", "in the middle of every element, tension positive", components=IN_PLANE
    )
    bending_moment = Quantity(
        "(T, e, 3)",
        "N",
        "per length, in the middle of every element; positive stretches the side of the normal",
        components=IN_PLANE,
    )
    shear_force = Quantity(
        "(T, e, 2)", "N/m", "through the thickness, in the middle of every element", components=("13", "23")
    )
    membrane_strain = Quantity(
        "(T, e, 3)", "-", "of the reference surface in the middle of every element", components=IN_PLANE
    )
    wrinkling = Quantity(
        "(T, e)", "-", "state of the elements of a shell with `tension_only`: 0 taut, 1 wrinkled, 2 slack"
    )
    curvature = Quantity("(T, e, 3)", "1/m", "change in the middle of every element", components=IN_PLANE)
    temperature = Quantity("(T, e)", "K", "of the reference surface above the stress-free shell, of a heated shell")
    temperature_gradient = Quantity("(T, e)", "K/m", "along the normal, of a heated shell")
    ply_stress = Quantity(
        "(T, e, p, 2, 3)",
        "Pa",
        "in the middle of every element, in every ply at its side behind the normal and at that in front: along and "
        "across the fibres, and shear; not in the file",
        otherwise=ply_stress_at,
        components=IN_PLANE,
        places=SIDES,
    )
    surface_stress = Quantity(
        "(T, e, 2, 3)",
        "Pa",
        "in the middle of every element, at the surface behind the normal and at that in front, material axes; not in "
        "the file",
        otherwise=surface_stress_at,
        components=IN_PLANE,
        places=SIDES,
    )
    surface_von_mises = Quantity(
        "(T, e, 2)", "Pa", "of `surface_stress`; not in the file", otherwise=surface_von_mises, components=SIDES
    )
    failure_index = Quantity(
        "(T, e, p, 2)",
        "-",
        "of plies with `strengths`: 1 at failure by the criterion of Tsai and Wu, in proportion to the load; not in "
        "the file",
        otherwise=failure_index_at,
        components=SIDES,
    )
    rotation = Quantity(
        "(T, n, 4)", "-", "quaternion of the rotation of the nodes from the reference shape", level="motion"
    )
    deflection = Quantity(
        "(T, n, 3)",
        "m",
        "of the nodes from the undeformed shell that moves rigidly with the body of `deflection_body`, or with its "
        "first node",
        level="deformation",
    )
    displacement = Quantity("(T, n, 3)", "m", DISPLACEMENT, otherwise=since_first, level="motion")
    reference_position = Quantity("(n, 3)", "m", "nodes in the start configuration, inertial axes")
    reference_quaternion = Quantity("(n, 4)", "-", "nodes in the start configuration")
    quadrilaterals = Quantity("(q, 4)", "-", "nodes of the elements with four corners, which are the first elements")
    triangles = Quantity("(t, 3)", "-", "nodes of the elements with three corners, which follow")
    element_axes = Quantity("(e, 3, 3)", "-", "material axes and normal of the elements, as columns, at the start")
    ply_recovery = Quantity(
        "(p, 2, 3, 6)",
        "own",
        "`ply_stress` by membrane forces and moments, 1/m and 1/m2; of several walls (e, p, 2, 3, 6)",
    )
    ply_heat = Quantity(
        "(p, 2, 3, 2)",
        "own",
        "`ply_stress` by temperature and gradient, Pa/K and Pa m/K; of several walls (e, p, 2, 3, 2)",
    )
    ply_angle = Quantity("(p,)", "rad", "of the fibres from material axis 1")
    ply_strengths = Quantity("(p, 5)", "Pa", "along the fibres in tension and pressure, across them, and in shear")
    element_area = Quantity("(e,)", "m2", "of the reference surface")

    @property
    def wrinkled(self) -> str:
        """Numbers of elements that were wrinkled and slack, and that are at the end; empty where none was."""
        if "wrinkling" not in self or not np.any(self.wrinkling):
            return ""
        count = self.wrinkling.shape[1]
        wrinkled, slack = ((self.wrinkling == state).sum(axis=1) for state in (1.0, 2.0))
        most, least = wrinkled.max(), slack.max()
        return (
            f"{most} of {count} elements wrinkled and {least} slack at most, {wrinkled[-1]} and {slack[-1]} at the end"
        )

    @property
    def deflection_body(self) -> str | None:
        """The body that `deflection` is relative to: the first that the shell is attached to; None for its first
        node."""
        return self.attributes.get("deflection_body")


class HingeResults(Group):
    """Angles, moments and reactions of a line of hinges, at its k nodes."""

    word: ClassVar[str] = "hinge"

    angle = Quantity(
        "(T, k)", "rad", "of the second edge from the first, about `axis`, zero at the start shape", level="motion"
    )
    rate = Quantity("(T, k)", "rad/s", "of the angle", level="motion")
    moment = Quantity("(T, k)", "N", "per length, of stiffness and damping; positive resists an increase of the angle")
    force = Quantity("(T, k, 3)", "N", "reaction on the second edge; z is along the line, axes of the first edge")
    torque = Quantity("(T, k, 3)", "N m", "in the same axes; about the nodes of the line")
    position = Quantity("(k, 3)", "m", "of the nodes of the line at the start, inertial axes")
    axis = Quantity("(3,)", "-", "of the line at the start, inertial axes")
    length = Quantity("(k,)", "m", "of the line at each node: their sum is its length")
