"""Sources of pointing errors of a linear budget: noise, harmonics, pulses of thrusters, and constant errors.

Densities are two-sided, of rad/s: white noise of deviation s a sample of the period T has s^2 T. One-sided ones per Hz,
as of data sheets, are twice as large. Source: docs/theory/pointing_budget.md.
"""

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np

from femb.base.errors import ModelError, Problem
from femb.base.types import Complexes, Floats, SeveralForms, Unit
from femb.base.values import finite_problem, shown


@dataclass(frozen=True, kw_only=True)
class Source:
    """Base of the kinds of sources. name : of the source. inputs : of the loop, which it acts on, as those of
    ``Loop.closed``: bodies.hub.torque.x, or what a law reads followed by " error"."""

    name: str
    inputs: tuple[str, ...]

    def __post_init__(self) -> None:
        given = (self.inputs,) if isinstance(self.inputs, str) else tuple(self.inputs)
        object.__setattr__(self, "inputs", given)
        for word, value in vars(self).items():
            if word in ("name", "inputs", "differs") or value is None:
                continue
            with suppress(ValueError):  # of lists of unlike lengths
                array = np.asarray(value)
                if array.dtype.kind in "iufc":
                    if word != "frequency" and (problem := finite_problem(value, np.abs(array))):
                        raise ModelError.at(("sources", self.name, word), problem)
                    continue
            self._fail(word, value, "a number, or numbers, in SI units")
        self.check()

    def check(self) -> None:
        """Check the fields of the kind."""

    def _fail(self, word: str, value: Any, wanted: str) -> None:
        raise ModelError.at(("sources", self.name, word), f"got {shown(value)}, wanted {wanted}")

    def by_input(self, value: Any) -> Complexes:
        """(m,) a value, a number or a list, of each input."""
        found = np.asarray(value, dtype=complex)
        if found.ndim and found.shape != (len(self.inputs),):
            self._fail("inputs", list(self.inputs), f"as many as values, {len(np.atleast_1d(found))}")
        return np.broadcast_to(found, (len(self.inputs),))


@dataclass(frozen=True, kw_only=True)
class NoiseSource(Source):
    """White noise: the two-sided ``density`` (unit^2 s) of each input, or a matrix of correlated ones.

    Of errors of a sampled law the ``deviation`` of a sample, a number, one for each input, or a matrix of covariances.
    """

    density: Any = None
    deviation: Any = None

    def check(self) -> None:
        if (self.density is None) == (self.deviation is None):
            self._fail("density", self.density, "either density or deviation")
        if np.min(np.linalg.eigvalsh(self.covariance)) < 0.0:
            self._fail("density", self.density, "a positive semidefinite matrix")

    @property
    def covariance(self) -> Floats:
        """(m, m) the density, or the covariance of a sample."""
        value = np.asarray(self.deviation if self.density is None else self.density, dtype=float)
        if value.ndim == 2:
            if value.shape != (len(self.inputs),) * 2 or not np.allclose(value, value.T):
                self._fail("density", value.tolist(), "a symmetric matrix, a row for each input")
            return value
        each = self.by_input(value).real
        return np.diag(each**2 if self.density is None else each)


@dataclass(frozen=True, kw_only=True)
class HarmonicSource(Source):
    """A sinusoid: ``amplitude`` of each input, complex for phases, times w^power of its ``frequency`` w, rad/s.

    Of a range [low, high] of frequencies, as of a wheel, the worst is taken. Imbalance has the power 2.
    """

    amplitude: Any
    frequency: Annotated[Any, SeveralForms((float, list[float])), Unit("rad/s")]
    power: float = 0.0

    def check(self) -> None:
        low, high = self.range
        if not 0.0 < low <= high < np.inf:
            self._fail("frequency", self.frequency, "rad/s, above 0, or a range of them")

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and highest frequency, rad/s."""
        given = np.atleast_1d(np.asarray(self.frequency, dtype=float))
        return float(given[0]), float(given[-1])

    def at(self, omega: float) -> Complexes:
        """(m,) amplitudes at a frequency omega, rad/s."""
        return np.asarray(self.by_input(self.amplitude) * omega**self.power)


@dataclass(frozen=True, kw_only=True)
class PulseSource(Source):
    """Pulses at random instants: the ``size`` of each input, ``length`` (s) and ``rate`` (1/s) of pulses."""

    size: Any
    length: Annotated[float, Unit("s")]
    rate: Annotated[float, Unit("1/s")]

    def check(self) -> None:
        for word in ("length", "rate"):
            value = getattr(self, word)
            if np.ndim(value) or value <= 0.0:
                self._fail(word, value, "a number above 0")


@dataclass(frozen=True, kw_only=True)
class ConstantSource(Source):
    """A constant error: the ``value`` of each input, as a bias; or where inputs are the outputs of the budget, as an
    error of knowledge, of these themselves. differs : whether it is another one at each observation, as with PRE."""

    value: Any
    differs: bool = False


KINDS: dict[str, type[Source]] = {
    "noise": NoiseSource,
    "harmonic": HarmonicSource,
    "pulses": PulseSource,
    "constant": ConstantSource,
}
"""Kinds of sources by their words."""


def _in_si(kind: type[Source], words: dict[str, Any]) -> tuple[dict[str, Any], dict[tuple[str, ...], str]]:
    """The keys of a source in SI units, and the problems; those in units of the inputs take numbers alone."""
    # imported where tables are read, for a faster start
    from femb.case.schema import converted, in_si

    found, problems = in_si(kind, words)
    for word, value in found.items():
        if word in ("amplitude", "density", "deviation", "size", "value"):
            try:
                found[word] = converted(value, ())
            except ModelError as error:
                problems[word,] = str(error)
    return found, problems


def read_source(name: str, table: dict[str, Any]) -> Source:
    """A source of a table of a budget file. Raises ModelError: an unknown kind or key, bad values."""
    words = dict(table)
    kind = words.pop("kind", None)
    if kind not in KINDS:
        raise ModelError.at(("sources", name, "kind"), f"got {shown(kind)}, wanted one of: {', '.join(KINDS)}")
    known = [each.name for each in fields(KINDS[kind]) if each.name != "name"]
    for word in words:
        if word not in known:
            raise ModelError.at(("sources", name, word), f"is unknown; there are: {', '.join(known)}")
    words, problems = _in_si(KINDS[kind], words)
    if problems:
        raise ModelError(*(Problem(("sources", name, *path), text) for path, text in problems.items()))
    try:
        found: Source = KINDS[kind](name=name, **words)
    except TypeError as error:
        missing = str(error).rpartition(": ")[2]
        raise ModelError.at(("sources", name), f"lacks {missing}") from error
    return found
