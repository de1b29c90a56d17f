"""Unmodelled dynamics in linear models: u (1 + W d), with a weight W(s) and any stable d(s) of a gain of at most one.

Each is a block of a plant, with w = d z: w adds to an input or an output, whose value weighted by W is z. Source:
docs/theory/robust.md, section 7.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import nearest
from femb.case import Case
from femb.case.parameters import TunedGain, common_number, document_of, missing_entries, read_parameters, read_tables
from femb.case.text import text_of
from femb.case.unmodelled import Unmodelled
from femb.elements.control.linear_law import Realisation
from femb.linear.linearise import laws_of
from femb.linear.state_space import StateSpace
from femb.robust.bounds import recentred
from femb.robust.hold import constant
from femb.vibration.completion import system_of

# Frequencies in each interval of a table at which a weight is compared with it.
BETWEEN = 25
# The coordinate of a block is half of itself where corners have one, between which and minus one is half a circle.
CORNER, CIRCLES = 0.5, 3.0
# Poles of an error that turns a phase, by the frequency at which it does; beyond it has the sign alone.
POLES = 1e-6, 1e6


@dataclass(frozen=True, eq=False)
class ErrorBlock:
    """Unmodelled dynamics at one input or output of a plant, by its name."""

    name: str
    at: str
    of: Unmodelled

    @cached_property
    def weight(self) -> Realisation:
        """W(s), of least order above the relative errors: a section of first order for each slope of one."""
        if self.of.frequencies is None:
            return constant(float(self.of.error))
        return weight_of(np.array(self.of.frequencies), np.array(self.of.error))

    def realised(self, phase: float, omega: float) -> Realisation:
        """1 + W d of an error d of size one, whose phase (degrees) is at omega, rad/s."""
        sign, a = error_of(np.radians(phase) % (2.0 * np.pi), omega)
        # d = sign (1 - 2 a/(s + a))
        error = Realisation(np.array([[-a]]), np.ones((1, 1)), np.array([[-2.0 * sign * a]]), np.array([[sign]]))
        found = self.weight.then(error if a else constant(sign))
        return Realisation(found.A, found.B, found.C, 1.0 + found.D)

    def words(self) -> str:
        """Place, size and order of the weight."""
        errors = self.of.error if isinstance(self.of.error, list) else [self.of.error]
        span = f"{min(errors):g}" + (f" to {max(errors):g}" if len(errors) > 1 else "")
        order = f", weight of order {len(self.weight.A)}" if len(errors) > 1 else ""
        return f"{self.name}: unmodelled dynamics at {self.at}, relative error {span}{order}"


def weight_of(frequencies: Floats, errors: Floats) -> Realisation:
    """The weight W(s) whose size is a table of errors, straight in logarithms, or a little more."""
    from scipy.optimize import least_squares

    rises = np.log(errors[1:] / errors[:-1])
    sections = np.maximum(1, np.ceil(np.abs(rises) / np.diff(np.log(frequencies)) - 1e-9).astype(int)) * (rises != 0.0)
    x = np.log(frequencies)
    points = np.concatenate([np.linspace(*pair, BETWEEN, endpoint=False) for pair in pairwise(x)])
    points = np.concatenate([[x[0] - 20.0, x[0] - 2.0], points, [x[-1], x[-1] + 2.0, x[-1] + 20.0]])
    wanted = np.interp(points, x, np.log(errors))
    # zeros and poles of sections (1 + s/z)/(1 + s/p) that share the rise of their interval
    middles = np.repeat(0.5 * (x[1:] + x[:-1]), sections)
    halves = 0.5 * np.repeat(rises / np.maximum(sections, 1), sections)

    def size(ends: Floats) -> Floats:
        zeros, poles = ends.reshape(2, -1)
        parts = [np.logaddexp(0.0, 2.0 * (points - z)) - np.logaddexp(0.0, 2.0 * (points - p))
                 for z, p in zip(zeros, poles, strict=True)]  # fmt: skip
        return np.asarray(np.log(errors[0]) + 0.5 * np.sum(parts, axis=0))

    ends = np.concatenate([middles - halves, middles + halves])
    for power in (1, 5) if len(ends) else ():  # then the largest difference counts most

        def residual(ends: Floats, power: int = power) -> Floats:
            found = size(ends) - wanted
            return np.asarray((found - np.mean(found)) ** power)

        ends = least_squares(residual, ends).x
    gain = errors[0] * np.exp(np.max(wanted - size(ends)))
    A, B, C, D = np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.array([[gain]])
    for z, p in zip(*np.exp(ends.reshape(2, -1)), strict=True):
        # p/z (1 + (z - p)/(s + p)) behind what is there
        A = np.block([[A, np.zeros((len(A), 1))], [C, -np.array([[p]])]])
        B, C, D = np.vstack([B, D]), p / z * np.hstack([C, [[z - p]]]), p / z * D
    return Realisation(A, B, C, D)


def blocks_of(
    tables: Mapping[str, Any], inputs: Sequence[str], outputs: Sequence[str], known: Sequence[str]
) -> tuple[ErrorBlock, ...]:
    """The blocks of tables [unmodelled.NAME], one for each component.

    inputs, outputs : of the plant that laws set and read. known : names of parameters, which blocks may not have.

    Raises ModelError: problems of the tables, names that the plant does not have.
    """
    items, problems = read_tables(Unmodelled, tables)
    if problems:
        raise ModelError(*problems)
    found = []
    for name, of in items.items():
        names = [each for each in (*inputs, *outputs) if each == of.at or each.startswith(f"{of.at}.")]
        if not names:
            there = ", ".join([*inputs, *outputs]) or "none"
            raise ModelError.at(
                (Unmodelled.table, name, "at"),
                f"got {of.at!r}{nearest(of.at, [*inputs, *outputs])}; controllers set and read {there}",
            )
        if name in known:
            raise ModelError.at((Unmodelled.table, name), "has the name of a parameter")
        found += [ErrorBlock(name if len(names) == 1 else f"{name}.{each.rpartition('.')[2]}", each, of)
                  for each in names]  # fmt: skip
    return tuple(found)


def check_names(case: Case) -> None:
    """Raise ModelError where [unmodelled], [parameters] or [gains] of a case name what it does not have, or ranges are
    not about the values that it has."""
    if case.path.suffix == ".py":
        return
    document = document_of(case.path, text_of(case.path), case.overrides)
    gains = read_parameters(document.get(TunedGain.table, {}), True, document, TunedGain)[0]
    if problems := missing_entries(document, case.model, [*case.parameters.values(), *gains.values()]):
        raise ModelError(*problems)
    for each in case.parameters.values():
        of_case = 1.0 if each.relative else common_number(document, each.keys)
        nominal = of_case if each.value is None else each.value
        if nominal is not None and each.range is not None and not isinstance(each.range, str):
            each.check_about(nominal, (each.range[0], each.range[1]))
    if tables := document.get(Unmodelled.table, {}):
        laws = laws_of(system_of(case.model))
        read, set_ = (dict.fromkeys(x for law in laws for x in getattr(law, word)) for word in ("inputs", "outputs"))
        # what laws read of each other is none of the plant's
        inputs, outputs = [x for x in set_ if x not in read], [x for x in read if x not in set_]
        blocks_of(tables, inputs, outputs, list(case.parameters))


def with_blocks(space: StateSpace, blocks: Sequence[ErrorBlock], count: int) -> StateSpace:
    """The plant with w of the blocks behind its first ``count`` inputs, and z behind as many outputs."""
    if not blocks:
        return space
    A, B, C, D = space.A, space.B, space.C, space.D
    n, m, p, k = len(A), B.shape[1], len(C), len(blocks)
    own = [each.weight for each in blocks]
    sizes = np.cumsum([n, *(len(each.A) for each in own)])
    A = block_diag(A, *(each.A for each in own))
    B, C = (np.pad(B, ((0, len(A) - n), (0, k))), np.pad(C, ((0, k), (0, len(A) - n))))
    D = np.pad(D, ((0, k), (0, k)))
    places = [int(each.at in space.inputs) for each in blocks]
    # errors of inputs first: what outputs show has them
    for j in sorted(range(k), key=lambda j: -places[j]):
        at, of, part = blocks[j].at, own[j], slice(sizes[j], sizes[j + 1])
        if places[j]:
            u = space.inputs.index(at)
            B[:n, m + j], D[:p, m + j] = B[:n, u], D[:p, u]
            B[part, u], D[p + j, u] = of.B[:, 0], of.D.item()
        else:
            y = space.outputs.index(at)
            A[part, :n], B[part] = of.B * C[y, :n], of.B * D[y]
            C[p + j, :n], D[p + j] = of.D.item() * C[y, :n], of.D.item() * D[y]
        C[p + j, part] = of.C[0]
    for j in range(k):
        if not places[j]:
            D[space.outputs.index(blocks[j].at), m + j] = 1.0
    columns, rows = ([*range(count), *range(size, size + k), *range(count, size)] for size in (m, p))
    names = tuple(each.name for each in blocks)
    inputs, outputs = ((*of[:count], *names, *of[count:]) for of in (space.inputs, space.outputs))
    states = (*space.states, *(f"{each.name} weight {i + 1}" for each, w in zip(blocks, own, strict=True)
                               for i in range(len(w.A))))  # fmt: skip
    return replace(space, A=A, B=B[:, columns], C=C[rows], D=D[np.ix_(rows, columns)], states=states, inputs=inputs,
                   outputs=outputs, form=None, truncation=None)  # fmt: skip


# Errors by one coordinate t in [-1, 1]: d = sign (s - a)/(s + a), whose size is one, and which has any phase at a
# frequency. Gains by a parameter in the unit disk are largest on its edge.


def error_at(t: float, omega: float) -> tuple[float, float]:
    """Sign and a of the error of a coordinate: at omega, rad/s, its phase is ``phase_of``."""
    return error_of(phase_of(t), omega)


def error_of(phase: float, omega: float) -> tuple[float, float]:
    """Sign and a of the error with a phase (rad) in [0, 2 pi) at omega, rad/s; a is 0 where it has the sign alone."""
    sign, part = (1.0, phase) if phase < np.pi else (-1.0, phase - np.pi)
    a = omega * float(np.tan(0.5 * part))
    if a < POLES[0] * omega:
        return sign, 0.0
    return (sign, a) if a < POLES[1] * omega else (-sign, 0.0)


def phase_of(t: float) -> float:
    """The phase (rad) in [0, 2 pi) of the error of a coordinate."""
    return float(CIRCLES * np.pi * (CORNER - t) % (2.0 * np.pi))


def at_point(
    space: StateSpace, sizes: Sequence[int], real: int, d: Floats, omega: float, size: float = 1.0
) -> StateSpace:
    """The plant (e) by (d) of (z, e) by (w, d) at parameters and errors, all times ``size``.

    d : of the ``real`` first blocks their values, of the others their coordinates, or nothing: they are zero then.
    """
    starts, left = np.cumsum([0, *sizes])[real:-1], np.zeros(len(sizes) - real)
    A, B, C = space.A, space.B, space.C
    for j, each in enumerate(d[real:]):
        sign, a = error_at(float(each), omega)
        left[j] = size * sign
        if a:
            # w = size sign (z - 2 a x),  x' = z - a x
            by, row = -2.0 * a * size * sign, starts[j]
            A = np.block([[A, by * B[:, [row]]], [C[[row]], np.array([[by * space.D[row, row] - a]])]])
            B, C = np.vstack([B, space.D[row]]), np.hstack([C, by * space.D[:, [row]]])
    states = (*space.states, *(f"error {k + 1}" for k in range(len(A) - len(space.A))))
    middle = np.concatenate([size * d[:real], left])
    return recentred(replace(space, A=A, B=B, C=C, states=states, form=None), sizes, middle, 0.0 * middle)


def disturbed(plant: StateSpace, blocks: Sequence[ErrorBlock], t: Floats, omega: float) -> StateSpace:
    """A plant with unmodelled dynamics of coordinates t (k,), whose phases are at omega, rad/s."""
    if not blocks or not len(t):
        return plant
    of = at_point(with_blocks(plant, blocks, 0), (1,) * len(blocks), 0, t, omega)
    return replace(of, units=plant.units, unsteady=plant.unsteady, title=plant.title, damping=plant.damping)
