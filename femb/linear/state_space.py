"""State space x' = A x + B u, y = C x + D u of small changes, with names; export to files and other packages.

Of a sampled system, with the period dt, it is x[k+1] = A x[k] + B u[k], y[k] = C x[k] + D u[k].
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike

from femb.base import html
from femb.base.errors import FembWarning, ModelError, ResultError
from femb.base.html import Brief, Tabled
from femb.base.types import Complexes, Floats
from femb.base.values import LOST, nearest, number_problem, numbered, shown, without_rounding
from femb.linear.response import LOST_PART, FrequencyResponse, checked_frequencies, html_of_response
from femb.numerics.linear_systems import RIGID, SAME, Flow, continuous, eigenvalues, graded, moving, resolving
from femb.numerics.threads import spared
from femb.results.array_file import read_arrays, write_arrays

if TYPE_CHECKING:
    from femb.linear.modal_form import ClosedForm, ModalForm
    from femb.results.results import Results


EPS = float(np.finfo(float).eps)
# States of the largest model whose eigenvalues are compared where it is written, and what is said of them: growth, by
# the slowest vibration, and the relative error of this.
LARGEST_READ, NOTICED = 1000, 1e-3
# Changes of A that are tried.
SAMPLES, SEED = 4, 1
FORMATS = (".npz", ".mat", ".h5")
NAMES = ("states", "inputs", "outputs")
# Of the fastest vibration: the root of the rounding of a double, and some more.
AT_ZERO = 1e-7
UNITS = {"input_units": "inputs", "output_units": "outputs"}
"""Lists of units in files, and the names that they are of."""


def names_of_states(
    coordinates: Sequence[str], first_order: Collection[str], *read: Floats
) -> tuple[list[int], tuple[str, ...]]:
    """Select of the states (p, p'), by the names of p, those that a state space has, and their names.

    first_order : names of first-order states among p, whose value is p'. Their coordinates, the integrals of their
    values, would be poles at zero that the model does not have: they are states where equations or outputs read them,
    as the angle of a wheel. read (.., 2 n) : matrices by all states (p, p').
    """
    integrals = [f"{name} integral" if name in first_order else name for name in coordinates]
    names = (*integrals, *(name if name in first_order else f"{name} rate" for name in coordinates))
    kept = [
        k
        for k, name in enumerate(names)
        if k >= len(coordinates) or coordinates[k] not in first_order or any(np.any(matrix[:, k]) for matrix in read)
    ]
    return kept, tuple(names[k] for k in kept)


@dataclass(frozen=True, eq=False)
class InModes:
    """The modes that the matrices A, B, C of a state space are of: these are better known than their entries.

    inputs, outputs : numbers of those of the form that the state space has; None for all.
    """

    form: "ModalForm | ClosedForm"
    A: Floats
    B: Floats
    C: Floats
    inputs: Sequence[int] | None = None
    outputs: Sequence[int] | None = None

    def matrices(self, B: Floats, C: Floats) -> tuple[Floats, Floats, Floats]:
        """A, B and C in modes, for these B and C."""
        own = self.form.matrices
        of_modes = own[1] if self.inputs is None else own[1][:, self.inputs]
        by_modes = own[2] if self.outputs is None else own[2][self.outputs]
        B = of_modes if B is self.B else self.form.inverse @ B
        return own[0], B, by_modes if C is self.C else C @ self.form.change

    def part(self, space: "StateSpace", inputs: Sequence[int], outputs: Sequence[int]) -> "InModes | None":
        """For the ``space`` with these inputs and outputs of this one; None where it is of other matrices."""
        if space.A is not self.A:
            return None
        chosen = [
            None if own is None else np.asarray(own)[list(part)].tolist()
            for own, part in (
                (range(self.B.shape[1]) if self.inputs is None else self.inputs, inputs),
                (range(len(self.C)) if self.outputs is None else self.outputs, outputs),
            )
        ]
        return InModes(self.form, space.A, space.B, space.C, *chosen)


@dataclass(frozen=True, eq=False)
class StateSpace(Brief):
    """A linear system of small changes about an operating point.

    A (n, n), B (n, m), C (p, n), D (p, m). states, inputs, outputs : the names of their rows and columns, such as
    "joints.hinge.angle". SI units: m, rad and their rates; inputs are factors of loads or motions of drivers.

    truncation : of a truncated model its error, else None. units : SI, of inputs and outputs by name, where known.
    unsteady : of a state that is not steady the reason, so that eigenvalues are those of an instant; else empty.
    dt : s, the period of a sampled system; None of a continuous one. title : of the model. damping : where that of the
    model comes from, in words; empty where it is not known. form : the modes of
    a model that ``linearize`` made, about rest; None of one that is made of matrices alone.

    Raises ModelError where the shapes of the matrices do not agree with the numbers of names.
    """

    A: Floats
    B: Floats
    C: Floats
    D: Floats
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    truncation: "Truncation | None" = None
    units: Mapping[str, str] = field(default_factory=dict)
    unsteady: str = ""
    dt: float | None = None
    title: str = ""
    damping: str = ""
    form: InModes | None = field(default=None, repr=False)

    def _repr_html_(self) -> str:
        return _html_of(self)

    def __post_init__(self) -> None:
        n, m, p = len(self.states), len(self.inputs), len(self.outputs)
        for name, shape in (("A", (n, n)), ("B", (n, m)), ("C", (p, n)), ("D", (p, m))):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
            if np.shape(getattr(self, name)) != shape:
                raise ModelError(
                    f"state space: {name} has shape {np.shape(getattr(self, name))}, wanted {shape}: there are {n} "
                    f"states, {m} inputs and {p} outputs"
                )

    @property
    def known(self) -> InModes | None:
        """The modes that this is known by; None where A is another than that of ``form``."""
        return self.form if self.form is not None and self.form.A is self.A else None

    def in_modes(self) -> "StateSpace":
        """This model by the modes that it is known by, in which no large entry hides a small one; else itself.

        The fastest come first: so other programs, too, find slow eigenvalues to their digits.
        """
        of = self.in_form()
        if of is self:
            return self
        order = graded(of.A)[1]
        states = tuple(of.states[k] for k in order)
        return replace(of, A=of.A[np.ix_(order, order)], B=of.B[order], C=of.C[:, order], states=states)

    def in_form(self) -> "StateSpace":
        """The model of ``in_modes``, in the order of the form."""
        if self.known is None or self.known.form.in_place:
            return self
        A, B, C = self.known.matrices(self.B, self.C)
        names = tuple(f"mode coordinate {k + 1}" for k in range(len(A)))
        return replace(self, A=A, B=B, C=C, states=names, truncation=None, form=None)

    @spared(lambda space: len(space.states))
    def _warn_of_rounding(self, way: str) -> None:
        """Warn where eigenvalues of A, as another program finds them, differ from those of the model. way : out."""
        if self.known is None or self.known.form.in_place or self.dt is not None or len(self.A) > LARGEST_READ:
            return
        wanted = self.eigenvalues()
        size = np.abs(wanted)
        slowest = float(np.min(size, where=wanted.imag > RIGID * size, initial=np.inf))
        if np.sqrt(EPS * np.max(np.abs(self.A), initial=0.0)) < NOTICED * slowest or not np.isfinite(slowest):
            return
        found = np.linalg.eigvals(self.A)
        growth = float(np.max(found.real)) - max(float(np.max(wanted.real)), 0.0)
        slow = wanted[np.argmin(np.where(wanted.imag > RIGID * size, size, np.inf))]
        off = float(np.min(np.abs(found - slow))) / slowest
        if growth > NOTICED * slowest or off > NOTICED:
            warn(
                f"linear model by the names of its states: rounding of its stiffest entry, {np.max(np.abs(self.A)):.2g}"
                f" 1/s2, lets other programs find growth of {max(growth, 0.0):.2g} 1/s that the model has not, and the "
                f"slowest vibration ({slowest / (2.0 * np.pi):.4g} Hz) {100.0 * off:.2g} % off: {way}",
                FembWarning,
                stacklevel=3,
            )

    @property
    def smallest_pole(self) -> float:
        """rad/s: a smaller eigenvalue of a continuous system may be what rounding leaves of a double zero.

        The root of the largest entry is the size of the fastest vibration, of which motions above critical damping are
        none.
        """
        if self.known is not None and not self.known.form.in_place:
            return AT_ZERO * float(np.max(np.abs(self.eigenvalues().imag), initial=0.0))
        return AT_ZERO * float(np.sqrt(np.max(np.abs(self.A), initial=0.0)))

    @spared(lambda space: len(space.states))
    def eigenvalues(self) -> Complexes:
        """(n,) complex eigenvalues of A, 1/s, sorted by imaginary and then real part.

        Of a sampled system they are ln z/dt of those z of A; -infinity where z is zero.
        """
        values = eigenvalues(self.in_form().A)
        values = values if self.dt is None else continuous(values, self.dt)
        return values[np.lexsort((values.real, values.imag))]

    def index(self, kind: str, name: str) -> int:
        """Index of a name; kind : "states", "inputs" or "outputs". Raises ModelError: an unknown name."""
        names: tuple[str, ...] = getattr(self, kind)
        if name not in names:
            listed = ", ".join(names) or "none"
            raise ModelError(f"state space: no {name!r} among the {kind}{nearest(name, names)}; there are: {listed}")
        return names.index(name)

    @spared(lambda space: len(space.states))
    def transfer(self, s: complex) -> Complexes:
        """(p, m) complex: the transfer matrix D + C (s - A)^-1 B at s, 1/s; of a sampled system that at e^(s dt)."""
        of = self.in_form()
        states = np.linalg.solve(self._point(s) * np.eye(len(of.A)) - of.A, of.B.astype(complex))
        return np.asarray(self.D + of.C @ states, dtype=np.complex128)

    def _point(self, s: complex) -> complex:
        """The number in place of s (1/s) in the transfer matrix."""
        return s if self.dt is None else complex(np.exp(s * self.dt))

    @spared(lambda space: len(space.states))
    def sampled(self, period: float, delay: float = 0.0) -> "StateSpace":
        """The exact model at samples of inputs that are held between them.

        The inputs u[k] of a sample wait in states of the model, named after the inputs, until they act. Outputs are
        those before the inputs of their sample act. Source: docs/theory/control_loop.md, equation (5).

        Parameters:
            period: s, between samples.
            delay: s, of any length, after which the inputs of a sample act.

        Raises:
            ModelError: a sampled system, a period that is not positive, a negative delay.
        """
        if self.dt is not None:
            raise ModelError(f"sampled: the model is one of samples already, with the period {self.dt:.6g} s")
        for word, value, least in (("period", period, "above 0"), ("delay", delay, "of 0 or more")):
            if number_problem(value) or value < 0.0 or (word == "period" and not value):
                raise ModelError(f"sampled: {word}: got {shown(value)}, wanted seconds, {least}")
        n, m = self.B.shape
        whole = int(np.floor(delay / period + SAME))
        fraction = delay - whole * period
        fraction = fraction if fraction > SAME * period else 0.0
        of, known = self.in_form(), self.known
        motion_of = Flow(of.A, of.B)

        def flow(length: float) -> tuple[Floats, Floats]:
            P, Q = motion_of(length)
            return (P, Q) if known is None else (known.form.change @ P @ known.form.inverse, known.form.change @ Q)

        (first, early), (last, late) = flow(fraction), flow(period - fraction)
        # outputs are those before the inputs of their sample act: by inputs of the sample before, or of an older one
        waiting = whole + (fraction > 0.0 or bool(np.any(self.D)))
        size, now = n + m * waiting, slice(n, n + m)
        motion = np.zeros((n, size + m))  # by x, u[k], u[k-1] ...: the older inputs act first
        motion[:, :n], motion[:, n + m * whole : n + m * (whole + 1)] = last @ first, late
        A, B, C = np.zeros((size, size)), np.zeros((size, m)), np.zeros((len(self.C), size))
        C[:, :n], B[:n] = self.C, motion[:, now]
        if waiting > whole:
            motion[:, size:] = last @ early
            C[:, size - m :] = self.D
        A[:n] = np.delete(motion, np.arange(n, n + m), axis=1)
        if waiting:
            B[now] = np.eye(m)
            A[n + m :, n : size - m] = np.eye(size - n - m)
        names = tuple(f"{name} before {j + 1}" for j in range(waiting) for name in self.inputs)
        form = None if known is None else known.form.sampled(A, B, C, period, of.B)
        return replace(
            self, A=A, B=B, C=C, D=0.0 * self.D, states=self.states + names, truncation=None, dt=float(period),
            form=None if form is None else InModes(form, A, B, C),
        )  # fmt: skip

    @spared(lambda space: len(space.states))
    def frequency_response(self, frequencies: ArrayLike) -> FrequencyResponse:
        """The transfer matrices at frequencies (f,) in Hz, and what rounding of A may leave of each entry.

        Warns where digits are lost, as in slow motions of free structures of short elements, whose inertia is less than
        the rounding of their stiffness. Raises ModelError: frequencies that are not positive.
        """
        found = checked_frequencies(frequencies)
        of = self.in_form()
        noise = EPS * np.abs(of.A) if self.known is None else self.known.form.rounding
        parts = [of._rounded(2j * np.pi * frequency, noise) for frequency in found]
        values, rounding = np.array([value for value, _ in parts]), np.array([size for _, size in parts])
        response = FrequencyResponse(found, values, self.outputs, self.inputs, rounding, self.units, self.title)
        lost = response.lost()
        if np.any(lost):
            warn(
                f"frequency response: digits lost at {numbered(int(np.sum(lost)), 'frequency')}, the highest "
                f"{np.max(found[lost]):.6g} Hz: rounding of A is more than {100.0 * LOST_PART:.3g} % of what "
                "responds; take that of femb.linear_model, or truncate the model to modes, which keep motions without "
                "stiffness exact",
                FembWarning,
                stacklevel=2,
            )
        return response

    def _rounded(self, s: complex, noise: Floats) -> tuple[Complexes, Floats]:
        """The transfer matrix (p, m) at s, and its change by changes of A of the sizes ``noise`` and random sign."""
        from scipy.linalg import lu_factor, lu_solve

        n, m = self.B.shape
        if not n or not self.D.size:
            return self.D.astype(complex), np.zeros(self.D.shape)
        s = self._point(s)
        factors = lu_factor(s * np.eye(n) - self.A)
        x = lu_solve(factors, self.B.astype(complex))
        # no square of s: the frequency may be any number
        sizes = np.hypot(EPS * abs(s) * np.abs(x), np.sqrt(noise**2 @ np.abs(x) ** 2))
        signs = np.random.default_rng(SEED).choice([-1.0, 1.0], size=(SAMPLES, n, m))
        changes = np.hstack([sign * sizes for sign in signs])
        sampled = np.abs(self.C @ lu_solve(factors, changes.astype(complex))).reshape(-1, SAMPLES, m)
        return np.asarray(self.D + self.C @ x), np.asarray(np.max(sampled, axis=1))

    def resolving_frequencies(self) -> Floats:
        """Frequencies (f,) in Hz from below the lowest to above the highest resonance, that resolve each of them.

        Of a sampled system they end at half its rate.
        """
        values = self.eigenvalues()
        if self.dt is None:
            return resolving(values)
        return resolving(values[np.isfinite(values)], last=0.5 / self.dt)

    def to_scipy(self) -> Any:
        """The model as scipy.signal.StateSpace, without names."""
        from scipy.signal import StateSpace as Signal

        self._warn_of_rounding("take in_modes().to_scipy()")
        return Signal(self.A, self.B, self.C, self.D, **({} if self.dt is None else {"dt": self.dt}))

    def to_control(self) -> Any:
        """The model as control.StateSpace, with names. Raises ModelError where python-control is not installed."""
        try:
            import control
        except ImportError as error:
            raise ModelError("pip install 'femb[control]': python-control is not installed") from error
        self._warn_of_rounding("take in_modes().to_control()")
        # dots are not allowed in names
        names = {key: [name.replace(".", "_").replace(" ", "_") for name in getattr(self, key)] for key in NAMES}
        return control.ss(self.A, self.B, self.C, self.D, *([] if self.dt is None else [self.dt]), **names)

    def write(self, path: str | Path) -> Path:
        """Write A, B, C, D, states, inputs, outputs, of a sampled system dt too, to a .npz, a .mat or a results file
        .h5; returns the path.

        In a results file they are in the group ``linear``, names as lists of text. ``input_units`` and ``output_units``
        have a unit for each name, empty where it is not known. ``unsteady`` is a list of one text, or of none about a
        steady state, ``title`` one of the title of the model, ``damping`` one of the source of its damping. Of a
        truncated model there are also truncation_frequencies (f,) Hz, and truncation_error and truncation_bound
        (f, p, m), relative. form_A, form_B and form_C are the same model in modes, the fastest first, of one that knows
        its rigid motions: x = form_change z; others are these motions and the momenta. Warns where A has not the digits
        of slow motions that form_A has. Raises ResultError.
        """
        self._warn_of_rounding("take form_A, form_B, form_C and D of the file")
        return write_arrays(path, self.arrays(), FORMATS, group="linear")

    def arrays(self) -> dict[str, Any]:
        """Matrices, names, units and the rest of a file, by name."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in (*"ABCD", *NAMES)}
        for word in UNITS:
            arrays[word] = tuple(self.units.get(name, "") for name in getattr(self, UNITS[word]))
        arrays["unsteady"] = (self.unsteady,) if self.unsteady else ()
        arrays |= {word: (getattr(self, word),) for word in ("title", "damping") if getattr(self, word)}
        if self.truncation is not None:
            arrays |= self.truncation.arrays()
        if self.dt is not None:
            arrays["dt"] = self.dt
        if (known := self.known) is not None:
            arrays |= known.form.stored(*known.matrices(self.B, self.C))
        return arrays

    @classmethod
    def read(cls, path: str | Path) -> "StateSpace":
        """Read the file at ``path``, written by ``write``. Raises ResultError."""
        words = (*UNITS, "unsteady", "title", "damping", "dt")
        found = read_arrays(path, "ABCD", NAMES, "state space", optional=words, group="linear", prefix="form_")
        return cls._of(found)

    @classmethod
    def of_results(cls, results: "Results") -> "StateSpace":
        """From the group ``linear`` of a results file, as ``write`` wrote it. Raises ResultError: there is none."""
        missing = [name for name in (*"ABCD", *NAMES) if f"linear/{name}" not in results.arrays]
        if missing:
            raise ResultError(f"these results have no linear model, which femb linearize writes: {results!r}")
        lists = (*NAMES, *UNITS, "unsteady", "title", "damping", "dt")
        names = {name: tuple(map(str, np.ravel(results.arrays.get(f"linear/{name}", ())))) for name in lists}
        form = [name.removeprefix("linear/") for name in results.arrays if name.startswith("linear/form_")]
        arrays = {name: np.array(results.arrays[f"linear/{name}"], dtype=float) for name in (*"ABCD", *form)}
        return cls._of(arrays | names)

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> "StateSpace":
        """From the arrays and lists of a file; older ones have no units."""
        matrices, names = ({name: found[name] for name in part} for part in ("ABCD", NAMES))
        units = {
            name: unit
            for word, of in UNITS.items()
            if found[word]
            for name, unit in zip(found[of], found[word], strict=True)
            if unit
        }
        dt = float(found["dt"][0]) if found["dt"] else None
        words: dict[str, Any] = {word: "".join(found[word]) for word in ("unsteady", "title", "damping")}
        space = cls(**matrices, **names, units=units, dt=dt, **words)
        if "form_A" not in found:
            return space
        from femb.linear.modal_form import StoredForm

        return replace(space, form=InModes(StoredForm.read(found), space.A, space.B, space.C))


# The error of a truncated linear model over frequency.

# Of the largest entry with the same units: below this a transfer function is zero by symmetry, and its error is
# relative to that entry.
ZERO = 1e-7


@dataclass(frozen=True, eq=False)
class Truncation(Tabled):
    """The comparison of a truncated model with the full one, and a bound of its error.

    kind : how it was truncated, in words. full, reduced : responses at the same frequencies (f,).
    bound_at : (p, m) bounds of the absolute difference at omega (rad/s), or None where there is none.
    unbounded : why there is none, in words.
    """

    kind: str
    full: FrequencyResponse
    reduced: FrequencyResponse
    bound_at: Callable[[float], Floats] | None
    unbounded: str = ""

    def bound(self, frequencies: ArrayLike) -> Floats:
        """(f, p, m) bounds of the absolute difference at frequencies in Hz; infinite where there is none."""
        found = checked_frequencies(frequencies)
        if self.bound_at is None:
            return np.full((len(found), *self.full.values.shape[1:]), np.inf)
        return np.array([self.bound_at(2.0 * np.pi * frequency) for frequency in found])

    @property
    def error(self) -> Floats:
        """(f, p, m) relative errors of the transfer functions.

        Of those that are zero by symmetry, to the largest entry with the same units; nan where that is zero too.
        """
        return self._relative(np.abs(self.reduced.values - self.full.values))

    @property
    def relative_bound(self) -> Floats:
        """(f, p, m) the same of the bound."""
        return self._relative(self.bound(self.full.frequencies))

    def _relative(self, difference: Floats) -> Floats:
        size = np.abs(self.full.values)
        largest = self.full.largest_alike(size)
        # of an entry that is rounding beside others of the same units nothing is known but that it is small
        known = [response.rounding for response in (self.full, self.reduced) if response.rounding is not None]
        least = np.maximum(ZERO * largest, np.sum(known, axis=0) / LOST_PART if known else 0.0)
        of = np.where(size <= least, largest, size)
        zero = of == 0.0
        if self.full.rounding is not None:
            rounding = np.max(self.full.rounding, axis=0, initial=0.0)
            zero |= np.max(largest, axis=0, initial=0.0) <= rounding
        return np.where(zero, np.nan, difference / np.where(zero, 1.0, of))

    @property
    def _names(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return ("inputs", self.full.inputs), ("outputs", self.full.outputs)

    def arrays(self) -> dict[str, Floats]:
        """The arrays of files: frequencies (f,) Hz, error (f, p, m), bound (f, p, m)."""
        return {
            "truncation_frequencies": self.full.frequencies,
            "truncation_error": self.error,
            "truncation_bound": self.relative_bound,
        }

    def table(self) -> str:
        """A line for each frequency with the largest relative error, whose it is, and the bound of it."""
        if not self.full.values[0].size:
            none = " and ".join(word for word, names in self._names if not names)
            return f"{self.kind}\nno error to show: there are no {none}; name some"
        lines = [self.kind, f"{'frequency Hz':>14}{'largest error':>15}{'bound':>12}  of"]
        lost, infinite = self.full.lost() | self.reduced.lost(), False
        for frequency, error, bound, no_digits in zip(
            self.full.frequencies, self.error, self.relative_bound, lost, strict=True
        ):
            if no_digits:
                lines.append(f"{frequency:14.6g}{LOST:>15}{'-':>12}  rounding hides the error")
                continue
            if np.all(np.isnan(error)):
                lines.append(f"{frequency:14.6g}{'-':>15}{'-':>12}  nothing that responds")
                continue
            # the first of those that are equal but for rounding
            i, j = np.argwhere(error >= (1.0 - 1e-6) * np.nanmax(error))[0]
            limit = f"{bound[i, j]:12.2g}" if np.isfinite(bound[i, j]) else f"{'-':>12}"
            infinite = infinite or not np.isfinite(bound[i, j])
            lines.append(
                f"{frequency:14.6g}{error[i, j]:15.2g}{limit}  {self.full.outputs[i]} by {self.full.inputs[j]}"
            )
        if self.bound_at is None:
            lines.append(f"no bound: {self.unbounded}")
        elif infinite:
            lines.append("-: no bound from the first mode left out on, or near it where that responds to itself")
        return "\n".join(lines)


def pole_lines(poles: Complexes) -> list[str]:
    """A table with a line for each of the poles (1/s), in their order, that is not below the real axis."""
    lines = [f"{'real 1/s':>14}{'imaginary 1/s':>16}{'frequency Hz':>14}{'damping':>11}"]
    for value in poles[poles.imag >= 0.0]:
        size = abs(value)
        real = float(without_rounding(np.array(value.real), size))
        damping = f"{0.0 - real / size:11.3g}" if size > 0.0 else f"{'':11}"
        lines.append(f"{real + 0.0:14.6g}{value.imag:16.6g}{size / (2.0 * np.pi):14.6g}{damping}")
    return lines


# Linear models at a glance, for notebooks: sizes, frequencies and damping, and the Bode plot of one channel.

# Of larger models there is no picture, which would take longer than a second.
LARGEST, POINTS = 120, 400
MOST = 20  # lines of the table


def _html_of(model: StateSpace) -> str:
    """The sizes, the frequencies and damping ratios of its modes, and the first channel that responds."""
    sizes = ", ".join(
        numbered(len(names), word)
        for names, word in ((model.states, "state"), (model.inputs, "input"), (model.outputs, "output"))
    )
    values = model.eigenvalues()
    poles = moving(values[np.isfinite(values)])
    ratios = -poles.real / np.abs(poles)
    rows = [
        (str(k + 1), f"{abs(value) / (2.0 * np.pi):.6g}", f"{ratio:.3g}")
        for k, (value, ratio) in enumerate(zip(poles[:MOST], without_rounding(ratios, 1.0), strict=False))
    ]
    more = f"<p>the first {MOST} of {len(poles)}</p>" if len(poles) > MOST else ""
    table = html.columns(("", "frequency Hz", "damping"), rows) + more if rows else ""
    picture = ""
    if model.inputs and model.outputs and 0 < len(model.states) <= LARGEST:
        frequencies = model.resolving_frequencies()
        frequencies = frequencies[:: -(-len(frequencies) // POINTS)]
        picture = html_of_response(model.frequency_response(frequencies))
    unsteady = f"<p>about unsteady motion: {escape(model.unsteady)}</p>" if model.unsteady else ""
    return f"<div><strong>Linear model of {sizes}</strong>{unsteady}{table}{picture}</div>"
