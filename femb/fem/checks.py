"""Checks of a finite element model before it is reduced; docs/howto/finite_element_bodies.md lists them."""

import warnings

import numpy as np
from scipy.linalg import eigh

from femb.base.checks import size_problem
from femb.base.errors import FembWarning, ModelError, Problem
from femb.base.types import Floats, Sparse
from femb.fem.model import FeModel

SYMMETRY = 1e-8  # of the largest entry
GROUNDED = 1e-6  # force of a rigid motion, of the stiffness
MASS_FORM = 1e-6  # of the mass
GIVEN = 0.01  # difference from given mass properties
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")
MOTIONS = ("translation x", "translation y", "translation z", "rotation x", "rotation y", "rotation z")
SUPPORTED = 1e-4  # stiffness against rigid motion by mass, of that of the first mode
ROUNDINGS = 10.0  # of an entry, from several elements
MOST_MODES, MOST_BYTES = 200, 50_000_000


def check_first(model: FeModel, first: float) -> None:
    """Compare the first frequency (Hz), with the root held, with that of the free model as a rigid body.

    Raises ModelError: a support was left in.
    """
    D = model.rigid_motions(model.nodes.mean(axis=0))
    D[:, 3:] /= model.length
    check_supports(D.T @ (model.stiffness @ D), D.T @ (model.mass @ D), rounding_of(model.stiffness, D), first)


def rounding_of(stiffness: Sparse | Floats, D: Floats) -> float:
    """Effect of independent rounding errors of all entries on D^T K D."""
    squares = stiffness.multiply(stiffness) if hasattr(stiffness, "multiply") else stiffness**2
    return ROUNDINGS * float(np.finfo(float).eps * np.sqrt((D.T**2 @ (squares @ D**2)).max()))


def check_model(model: FeModel) -> Floats:
    """Check symmetry, grounding and mass; returns the rigid mass matrix (6, 6) about the model's origin.

    Raises ModelError: lists all problems.
    """
    matrices = (("mass", model.mass), ("stiffness", model.stiffness))
    found = [_entries(model, name, matrix) or _asymmetry(model, name, matrix) for name, matrix in matrices]
    if problems := [problem for problem in found if problem is not None]:
        raise ModelError(*problems)
    centre = model.nodes.mean(axis=0)
    D = model.rigid_motions(centre)
    D[:, 3:] /= model.length
    rigid = D.T @ (model.mass @ D)
    if problems := [problem for problem in (_grounding(model, D), _mass_form(model, rigid)) if problem is not None]:
        raise ModelError(*problems)
    whole = model.rigid_motions(np.zeros(3))
    return np.asarray(whole.T @ (model.mass @ whole))


def _entries(model: FeModel, name: str, matrix: Sparse) -> Problem | None:
    if matrix.shape != (model.size, model.size):
        return Problem((name,), f"got a matrix of {matrix.shape}, wanted ({model.size}, {model.size})")
    if not np.isfinite(matrix.data).all():
        return Problem((name,), "contains numbers that are not finite")
    return None


def _asymmetry(model: FeModel, name: str, matrix: Sparse) -> Problem | None:
    difference = abs(matrix - matrix.T).tocoo()
    largest = np.max(np.abs(matrix.data), initial=0.0)
    if not difference.nnz or difference.data.max() <= SYMMETRY * largest:
        return None
    k = int(np.argmax(difference.data))
    i, j = int(difference.row[k]), int(difference.col[k])
    return Problem(
        (name,),
        f"is not symmetric: the entries of ({model.label(i)}) and ({model.label(j)}) differ by "
        f"{difference.data[k]:.3g}, the largest is {largest:.3g}; if the file holds one triangle only, complete it",
    )


def _grounding(model: FeModel, D: Floats) -> Problem | None:
    """Forces of rigid motions, along rows of equal dimension."""
    scale = np.where(model.component < 3, 1.0, 1.0 / model.length)
    force = (model.stiffness @ D) * scale[:, None]
    size = float(np.max(np.abs(model.stiffness.diagonal()) * scale**2, initial=0.0))
    worst = np.max(np.abs(force), axis=0)
    if worst.max() <= GROUNDED * size:
        return None
    j = int(np.argmax(worst))
    k = int(np.argmax(np.abs(force[:, j])))
    return Problem(
        ("stiffness",),
        f"the rigid {MOTIONS[j]} strains the model: force {worst[j]:.3g} at {model.label(k)}, {worst[j] / size:.2g} of "
        "the largest stiffness. A support was left in, the degrees of freedom are in another order, or node positions "
        "and matrices have different units",
    )


def _mass_form(model: FeModel, rigid: Floats) -> Problem | None:
    """The rigid mass matrix, rotations divided by the length, must be [m 1, -s~; s~, J]."""
    m = float(np.trace(rigid[:3, :3])) / 3.0
    if m <= 0.0:
        return Problem(("mass",), f"got {m:.6g} kg in all, must be greater than 0: check the sign and the density")
    error = np.abs(rigid[:3, :3] - m * np.eye(3)).max()
    error = max(error, np.abs(rigid[:3, 3:] + rigid[:3, 3:].T).max())
    if error > MASS_FORM * m:
        return Problem(
            ("mass",),
            f"the mass of rigid motions, {np.array2string(np.diag(rigid)[:3], precision=6)} kg along x, y, z, is not "
            "that of a body: node axes are not turned to common axes, or scalar points are among the nodes",
        )
    least = np.linalg.eigvalsh(rigid)[0]
    if least < -MASS_FORM * m:
        return Problem(("mass",), f"has a negative rigid inertia ({least:.3g}): check the signs of masses")
    return None


def properties(rigid: Floats) -> tuple[float, Floats, Floats]:
    """Mass kg, mass centre (3,) m and inertia (3, 3) kg m2 about it, of a rigid mass matrix (6, 6).

    Scalar masses act along one axis: the mass is the least of all axes with any, a coordinate of the centre is by the
    masses along the axes across, and the inertia is about the centres of the masses along each axis.
    """
    masses, turned = np.diag(rigid)[:3], rigid[3:, :3]
    first = np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], turned[1, 0] - turned[0, 1]])
    across = masses.sum() - masses
    centre = np.divide(first, across, out=np.zeros(3), where=across > 0.0)
    own = masses[masses > 0.0]
    return min(own, default=0.0), centre, rigid[3:, 3:] - turned @ np.linalg.pinv(rigid[:3, :3]) @ turned.T


def compare_given(rigid: Floats, mass: float | None, centre: Floats | None, inertia: Floats | None) -> None:
    """Warn where given mass (kg), mass centre (3,) m or inertia (3, 3) about it differ by more than a hundredth."""
    found = properties(rigid)
    size = np.sqrt(np.trace(found[2]) / found[0])
    for name, given, own, scale in (
        ("mass", mass, found[0], found[0]),
        ("mass centre", centre, found[1], size),
        ("inertia", inertia, found[2], np.abs(found[2]).max()),
    ):
        if given is not None and np.max(np.abs(np.asarray(given) - own)) > GIVEN * scale:
            shown = (_six_digits(value) for value in (own, given))
            warnings.warn("{}: the model has {}, given is {}".format(name, *shown), FembWarning)


def _six_digits(value: float | Floats) -> str:
    return f"{value:.6g}" if np.ndim(value) == 0 else np.array2string(np.asarray(value), precision=6).replace("\n", "")


def check_supports(stiffness: Floats, mass: Floats, rounding: float, first: float) -> None:
    """Refuse a stiffness against rigid motion that matters beside the first mode.

    stiffness, mass (6, 6) : of rigid motions, rotations divided by one length. rounding (N/m) : what rounding of the
    entries makes of the stiffness. first (Hz) : of the body with the root held. Raises ModelError.
    """

    turned, axes = np.linalg.eigh(mass)
    own = axes[:, turned > 1e-12 * turned[-1]]
    squares, motions = eigh(own.T @ stiffness @ own, own.T @ mass @ own)
    k = int(np.argmax(np.abs(squares)))
    rigid = float(np.sqrt(abs(squares[k]))) / (2.0 * np.pi)
    if rigid**2 <= SUPPORTED * first**2:
        return
    motion = own @ motions[:, k]
    word = MOTIONS[int(np.argmax(np.abs(motion)))]
    if abs(squares[k]) * (motion @ mass @ motion) <= rounding * (motion @ motion):
        warnings.warn(
            f"digits lost: rounding of the stiffness alone makes a rigid {word} vibrate with {rigid:.3g} Hz, the first "
            f"frequency is {first:.3g} Hz: take fewer elements, or matrices with more digits",
            FembWarning,
        )
        return
    raise ModelError.at(
        ("stiffness",),
        f"the free body vibrates as a rigid one ({word}) with {rigid:.3g} Hz, which is not small beside its first "
        f"frequency of {first:.3g} Hz with the root held: a soft support or a spring to the ground was left in, or the "
        "numbers were written with too few digits",
    )


def check_size(first: float | None, length: float, mass: float) -> None:
    """Warn where the first frequency (Hz), the size (m) or the mass (kg) are what other units would give."""
    if problem := size_problem(first, length, mass):
        warnings.warn(problem, FembWarning)


def check_sizes(modes: int, shapes: int) -> None:
    """Refuse second-order arrays of more than 200 modes or 50 MB. Raises ModelError."""
    size = shapes * shapes * 8 * 15
    if modes > MOST_MODES or size > MOST_BYTES:
        raise ModelError(
            f"coupling = 'full' of {modes} modes needs arrays of {size / 1e6:.0f} MB, at most {MOST_MODES} modes and "
            f"{MOST_BYTES / 1e6:.0f} MB: keep fewer modes, or take coupling = 'constant'"
        )


def check_loaded(loaded: str, residual: Floats) -> None:
    """Warn where a tenth or more of the mass (rows x, y, z, rx, ry, rz) is left out in a loaded direction.

    Raises ModelError: an unknown direction.
    """
    for word in loaded.replace(",", " ").split():
        if word not in DIRECTIONS:
            raise ModelError(f"loaded: got {word!r}, wanted some of {', '.join(DIRECTIONS)}")
        left_out = residual[DIRECTIONS.index(word)]
        if left_out > 0.1:
            warnings.warn(
                f"the kept modes leave {left_out:.1%} of the effective mass along {word} out, at "
                "most 10 % are wanted in a loaded direction: keep more modes",
                FembWarning,
            )
