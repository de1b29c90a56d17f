"""The damping ratios of modes, as every analysis of small motions takes them.

A model with modal damping has the ratios that this gives. A ratio that an analysis is given takes the place of modal
damping. A default ratio has only a model without modal damping, where modes of it are listed or kept. Other dampers of
the model act beside these ratios. Source: docs/theory/modal_damping.md, section 4.
"""

from dataclasses import replace

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import number_problem, shown
from femb.elements.spring.modal_damping import RATIO, ModalDamping
from femb.layout.element import LowRank
from femb.model.model import Model
from femb.small_motions.eigenproblem import EigenProblem

DIGITS = 12  # decimals of a ratio: what is beyond is rounding
DEFAULT = ", by default"  # end of the words about damping that nobody asked for


def check_ratio(damping: float) -> None:
    """Raises ModelError: a ratio that is no number from 0 to below 1."""
    if number_problem(damping) or not 0.0 <= damping < 1.0:
        raise ModelError(f"damping: got {shown(damping)}, wanted a ratio from 0 to below 1, such as 0.005")


def ratio_of_modes(model: Model, given: float | None) -> float | None:
    """The ratio of all modes: the ``given`` one, or 0.005 of a model without modal damping; None of one with it.

    Raises ModelError: a given ratio that is no number from 0 to below 1.
    """
    if given is not None:
        check_ratio(given)
        return given
    return None if model.tables[ModalDamping.table] else RATIO


def source_of(model: Model, given: float | None) -> str:
    """The source of the damping of modes, in words: a ratio that is given, the case's modal damping, or the default."""
    items: dict[str, ModalDamping] = model.tables[ModalDamping.table]
    ratio = ratio_of_modes(model, given)
    if ratio == 0.0:
        return "no damping of modes"
    if ratio is None:
        return f"modal damping of the case, {'; '.join(item.description for item in items.values())}"
    if given is None:
        return f"{100.0 * ratio:.3g} % damping in each{DEFAULT}"
    return f"{100.0 * ratio:.3g} % damping in each, as given" + (" in place of that of the case" if items else "")


def without_default(model: Model, given: float | None) -> float | None:
    """The ``given`` ratio, or zero in place of a default one, which no verdict or margin may rest on."""
    return given if given is not None or model.tables[ModalDamping.table] else 0.0


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
    ratio = ratio_of_modes(motion.system.model, given)
    if ratio is not None:
        return np.full(len(omega), ratio)
    low = motion.low_rank
    sizes = np.sum((shapes.T @ low.left) * (shapes.T @ low.damping), axis=1)
    return np.asarray(np.round(sizes / (2.0 * omega), DIGITS))
