"""The damping ratios of modes, as every analysis of small motions takes them.

A model with modal damping has the ratios that this gives, and reduced bodies their own. A ratio that a linear model is
given takes the place of both, and only a model without both has a default one. In lists of modes with a body held the
damping of reduced bodies is a damper. Dampers act beside the ratios. Source: docs/theory/modal_damping.md, section 4.
"""

from copy import copy
from dataclasses import replace

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import number_problem, shown
from femb.elements.modal.batch import ModalBatch
from femb.elements.modal.flexible_body import FlexibleBody
from femb.elements.spring.modal_damping import RATIO, ModalDamping
from femb.layout.element import LowRank
from femb.model.model import Model
from femb.numerics.newton import largest
from femb.small_motions.eigenproblem import EigenProblem
from femb.system.system import System
from femb.vibration.participation import percent

DIGITS = 12  # decimals of a ratio: what is beyond is rounding
DAMPS = 1e-9  # of gyroscopic moments: less is rounding
DEFAULT = ", by default"  # end of the words about damping that nobody asked for


def damped_bodies(model: Model) -> dict[str, FlexibleBody]:
    """The reduced bodies, by name, whose modes have a damping of their own."""
    bodies: dict[str, FlexibleBody] = model.tables[FlexibleBody.table]
    return {x: body for x, body in bodies.items() if body.kind == FlexibleBody.kind and np.any(body.damping_matrix())}


def without_own_ratios(system: System) -> System:
    """The System of the model whose reduced bodies have no damping of their own, in the same state."""
    result, model = copy(system), copy(system.model)
    bare = {x: replace(body, file=body.whole, damping_ratio=0.0) for x, body in damped_bodies(model).items()}
    model.tables = {**model.tables, FlexibleBody.table: {**model.bodies, **bare}}
    result.model = model
    return result


def check_ratio(damping: float) -> None:
    """Raises ModelError: a ratio that is no number from 0 to below 1."""
    if number_problem(damping) or not 0.0 <= damping < 1.0:
        raise ModelError(f"damping: got {shown(damping)}, wanted a ratio from 0 to below 1, such as 0.005")


def ratio_of_modes(model: Model, given: float | None, listed: bool = False) -> float | None:
    """The ratio of all modes: the ``given`` one, or 0.005 of a model without modal damping; None of one with it.

    listed : in lists of modes with a body held, for which that of reduced bodies is none.
    Raises ModelError: a given ratio that is no number from 0 to below 1.
    """
    if given is not None:
        check_ratio(given)
        return given
    return None if model.tables[ModalDamping.table] or (not listed and damped_bodies(model)) else RATIO


def source_of(model: Model, given: float | None, listed: bool = False) -> str:
    """The source of the damping of modes, in words: a ratio that is given, the case's modal damping and that of reduced
    bodies, or the default. listed : as in ``ratio_of_modes``."""
    items: dict[str, ModalDamping] = model.tables[ModalDamping.table]
    bodies = {} if listed else damped_bodies(model)
    ratio = ratio_of_modes(model, given, listed)
    if ratio == 0.0:
        return "no damping of modes"
    if ratio is None:
        words = [f"modal damping of the case, {'; '.join(item.description for item in items.values())}"] * bool(items)
        words += [f"{percent(body.own_ratios())} damping of the reduced body {x}" for x, body in bodies.items()]
        return ", and ".join(words) + ("" if items else ", none by default")
    if given is None:
        return f"{100.0 * ratio:.3g} % damping in each{DEFAULT}"
    return f"{100.0 * ratio:.3g} % damping in each, as given" + (" in place of that of the case" if items else "")


def has_dampers(motion: EigenProblem) -> bool:
    """Whether dampers act on what is not held, beside those of the modes of reduced bodies."""
    system = motion.system
    others = system.with_batches(batch for batch in system.batches if not isinstance(batch, ModalBatch))
    damping, _ = others.tangent(motion.u, motion.q, motion.v, motion.a)
    moving = np.append(~motion.held, np.ones(system.n_c, dtype=bool))[system.pattern.rows_columns()[0]]
    return largest((damping + damping[system.pattern.transposed]) * moving) > DAMPS * largest(damping)


def damping_source(motion: EigenProblem, given: float | None) -> str:
    """The source of the damping of modes, and whether dampers act beside it."""
    return source_of(motion.system.model, given) + ", beside the model's own dampers" * has_dampers(motion)


def without_default(model: Model, given: float | None) -> float | None:
    """The ``given`` ratio, or zero in place of a default one, which no verdict or margin may rest on."""
    return given if given is not None or ratio_of_modes(model, None) is None else 0.0


def damping_in_words(model: Model, given: float | None, truncated: bool) -> str:
    """All damping of a linear model of full order, or of one truncated to modes, and where it comes from."""
    ratio = ratio_of_modes(model, given)
    of_modes = ratio is None or (ratio > 0.0 and (truncated or given is not None))
    return "the model's own dampers" + (f", and {source_of(model, given)}" if of_modes else " alone")


def with_ratio(motion: EigenProblem, ratio: float, momenta: Floats, omega: Floats) -> EigenProblem:
    """The motions with a ratio of some modes in place of modal damping.

    momenta (n_v, k) : M phi of the modes: their products with velocities are modal rates. omega (k,) : rad/s.
    """
    damping = momenta * (2.0 * ratio * omega)
    return replace(motion, low_rank=LowRank(momenta, damping, np.zeros_like(momenta)))


def ratios_of(motion: EigenProblem, shapes: Floats, omega: Floats, given: float | None) -> Floats:
    """(k,) ratios of modes with shapes (n_v, k) of unit mass: the given one, those by modal damping, or 0.005."""
    ratio = ratio_of_modes(motion.system.model, given, listed=True)
    if ratio is not None:
        return np.full(len(omega), ratio)
    low = motion.low_rank
    sizes = np.sum((shapes.T @ low.left) * (shapes.T @ low.damping), axis=1)
    return np.asarray(np.round(sizes / (2.0 * omega), DIGITS))
