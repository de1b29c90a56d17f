"""Response of a rotor at rest to its unbalances, over its speed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.types import Complexes, Floats
from femb.base.values import as_numbers, listed, shown
from femb.linear import operating_point
from femb.linear.rotor_speeds import RotorSpeeds
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.results.array_file import write_arrays
from femb.small_motions.channels import known_outputs
from femb.vibration.completion import given

if TYPE_CHECKING:
    from femb.case import Given

RPM = 30.0 / np.pi  # rpm of a rad/s
# Of the largest amplitude with the same unit: less is zero by symmetry, and neither listed nor drawn.
NOTHING = 1e-9
# Of a critical speed: the least width of a peak, and that of one without damping. The growth of amplitudes at half the
# distance from there, and rounds in which the vertex of a parabola is added at each peak, if it is not so close to one.
NARROW, UNDAMPED, GROWTH, PARABOLAS, NEXT, CLOSE = 1e-5, 1e-9, 1.5, 4, 0.05, 1e-10
# Of an eigenvalue: how near that of its mode is.
ALIKE = 1e-4
TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Unstable:
    """Speeds (rad/s) from ``first`` to ``last`` at which a rotor is unstable, and the mode that grows fastest."""

    first: float
    last: float
    mode: str

    def text(self) -> str:
        """Such as "unstable from 30 to 80 rad/s (286.5 to 763.9 rpm): mode 1, forward, 4.1 Hz, damping -0.002"."""
        rad, rpm = (f"{scale * self.first:.5g} to {scale * self.last:.5g}" for scale in (1.0, RPM))
        return f"unstable from {rad} rad/s ({rpm} rpm): {self.mode}; no vibration is steady there"


@dataclass(frozen=True, eq=False)
class UnbalanceResponse(Tabled):
    """Vibration by the unbalances of a rotor at its speeds (v,) rad/s: Re(values e^(i |speed| t)).

    values (v, p) : complex, of the outputs (p,), in their ``units``. The phase is from the rotor's x axis at t = 0.
    peak_speeds (e,), peak_values (e, p) : between the speeds, at the peaks and beside them.
    unbounded : speeds (rad/s) at which nothing damps the vibration, each with the numbers of its outputs.
    unstable : ranges of speeds at which the vibration is not steady.
    """

    rotor: str
    speeds: Floats
    outputs: tuple[str, ...]
    units: tuple[str, ...]
    values: Complexes
    peak_speeds: Floats = field(default_factory=lambda: np.zeros(0))
    peak_values: Complexes | None = None
    unbounded: tuple[tuple[float, tuple[int, ...]], ...] = ()
    unstable: tuple[Unstable, ...] = ()
    title: str = ""
    """of the model"""

    @property
    def amplitude(self) -> Floats:
        """(v, p) in the units of the outputs."""
        return np.abs(self.values)

    @property
    def phase(self) -> Floats:
        """(v, p) rad, -pi to pi, positive where the vibration is ahead of the unbalance."""
        return np.angle(self.values)

    @property
    def steady(self) -> list[bool]:
        """(v,) whether the vibration is steady at each speed; where the rotor is unstable it is not."""
        return [self._is_steady(speed) for speed in self.speeds.tolist()]

    @property
    def peaks(self) -> list[dict[str, Any]]:
        """The peak of every output that responds: its amplitude, infinite without damping, speed (rad/s) and phase."""
        speeds, values = self.whole
        found = []
        for k in self.shown:
            at = int(np.argmax(np.abs(values[:, k])))
            peak = {
                "amplitude": float(abs(values[at, k])),
                "speed": float(speeds[at]),
                "phase": float(np.angle(values[at, k])),
            }
            beyond = [speed for speed, outputs in self.unbounded if k in outputs]
            if beyond:
                peak = {"amplitude": np.inf, "speed": beyond[0], "phase": np.nan}
            found.append({"output": self.outputs[k], **peak, "steady": self._is_steady(peak["speed"])})
        return found

    @property
    def whole(self) -> tuple[Floats, Complexes]:
        """All speeds in their order, those at the peaks included, and values there."""
        if self.peak_values is None:
            return self.speeds, self.values
        speeds = np.concatenate([self.speeds, self.peak_speeds])
        order = np.argsort(speeds, kind="stable")
        return speeds[order], np.concatenate([self.values, self.peak_values])[order]

    @property
    def shown(self) -> list[int]:
        """Numbers of the outputs that respond."""
        peaks, units = np.abs(self.whole[1]).max(axis=0), np.array(self.units)
        return [k for k, peak in enumerate(peaks) if peak > NOTHING * np.max(peaks[units == units[k]])]

    def _is_steady(self, speed: float) -> bool:
        return not any(min(each.first, each.last) <= speed <= max(each.first, each.last) for each in self.unstable)

    def table(self) -> str:
        """The peak of every output that responds, and speeds at which the rotor is unstable."""
        lines = [f"unbalance response of {self.rotor}, {RPM * self.speeds[0]:.6g} to {RPM * self.speeds[-1]:.6g} rpm"]
        width = max([8, *(len(self.outputs[k]) for k in self.shown)])
        lines.append(f"{'output':<{width}}{'peak':>14}{'unit':>8}{'at rpm':>12}{'rad/s':>12}{'phase deg':>12}")
        for k, peak in zip(self.shown, self.peaks, strict=True):
            bounded = np.isfinite(peak["amplitude"])
            size, phase = (
                (f"{peak['amplitude']:.6g}", f"{np.degrees(peak['phase']):.4g}") if bounded else ("unbounded", "-")
            )
            lines.append(
                f"{self.outputs[k]:<{width}}{size:>14}{self.units[k]:>8}"
                f"{RPM * peak['speed']:12.6g}{peak['speed']:12.6g}{phase:>12}" + "  unstable" * (not peak["steady"])
            )
        still = [name for k, name in enumerate(self.outputs) if k not in self.shown]
        lines += [f"zero to rounding: {', '.join(still)}"] if still else []
        if self.unbounded:
            lines.append(f"without damping at {', '.join(f'{speed:.6g}' for speed, _ in self.unbounded)} rad/s")
        return "\n".join([*lines, *(each.text() for each in self.unstable)])

    def write(self, path: str | Path) -> Path:
        """Write a .npz with speeds, those at the peaks among them, outputs, units, real and imaginary, and whether each
        is steady; its path. Raises ResultError."""
        speeds, values = self.whole
        steady = np.array([self._is_steady(speed) for speed in speeds.tolist()], dtype=int)
        parts = {"real": values.real, "imaginary": values.imag, "steady": steady}
        return write_arrays(path, {"speeds": speeds, "outputs": self.outputs, "units": self.units, **parts})

    def draw(self, path: str | Path) -> Path:
        """Draw amplitude and phase over the speed in rpm to the picture file ``path``."""
        from femb.pictures.drawing import save
        from femb.pictures.frequency import draw_unbalance

        chosen = self.shown
        names = [self.outputs[k] for k in chosen]
        units = [self.units[k] for k in chosen]
        speeds, values = self.whole
        ranges = [(RPM * each.first, RPM * each.last) for each in self.unstable]
        return save(
            draw_unbalance(RPM * speeds, values[:, chosen], names, units, self.title or self.rotor, ranges), Path(path)
        )


@one_blas_thread()
def unbalance_response(
    model: "Given", speeds: Sequence[float], outputs: Sequence[str] | None = None, *, rotor: str | None = None
) -> UnbalanceResponse:
    """The steady vibration of a model at rest by the unbalances of one of its rotors, at each of its speeds.

    Bearings with tables have the coefficients of the speed. Between the speeds its peaks are found, too
    (``UnbalanceResponse.peaks``), and where the rotor is unstable, which is said with the mode that grows.

    Parameters:
        model: or a case, or the path of its file.
        speeds: (v,) rad/s, none of them zero.
        outputs: names as in ``femb.linearize``, by default the displacements in all bearings and the positions of
            bodies that turn.
        rotor: its name, by default the only one.

    Raises:
        ModelError: no rotor with an unbalance, speeds of zero, as ``femb.linearize``.
    """
    whole, _ = given(model, "as_given")
    if not isinstance(whole, Model):
        raise ModelError(f"unbalance response: got {shown(whole)}, wanted a model or a case")
    numbers = as_numbers(speeds)
    if numbers is None or np.ndim(numbers) != 1 or not len(numbers) or not np.all(np.isfinite(1.0 / numbers)):
        raise ModelError(f"unbalance response: speeds: got {shown(speeds)}, wanted numbers in rad/s, none of them zero")
    rotors: dict[str, Any] = {item.name: item for item in whole.items() if item.spin is not None and item.parts()}
    if rotor is None and len(rotors) == 1:
        rotor = next(iter(rotors))
    if rotor not in rotors:
        if not rotors:
            raise ModelError("unbalance response: no rotor has unbalances: give [rotors.NAME] a list of them")
        known = listed(list(rotors), 8)
        raise ModelError(f"unbalance response: rotor: got {shown(rotor)}, wanted one with unbalances: {known}")
    if outputs is None:
        names = known_outputs(operating_point(whole, at_rest=True))
        bodies = [f"bodies.{name}.position" for name in rotors[rotor].bodies]
        outputs = [*(name for name in names if name.endswith(".displacement")), *bodies]
    swept = RotorSpeeds(whole, rotors[rotor], np.asarray(numbers), list(outputs))
    space, values = swept.space, swept.responses(np.asarray(numbers))
    # which warns where digits are lost
    space.frequency_response(np.abs([np.min(np.abs(numbers)), swept.last]) / (2.0 * np.pi))
    units = tuple(space.units.get(name, "") for name in space.outputs)
    found = UnbalanceResponse(
        f"rotors.{rotor}", np.asarray(numbers), tuple(space.outputs), units, values, title=space.title
    )
    unstable = tuple(Unstable(first, last, _mode_of(swept, at, value)) for first, last, at, value in swept.unstable)
    return replace(_with_peaks(swept, found), unstable=unstable)


def _with_peaks(swept: RotorSpeeds, found: UnbalanceResponse) -> UnbalanceResponse:
    """The response with speeds between the given ones, beside poles that are nearer to the real axis than these are to
    each other, and at the peaks: 1/|x|^2 is a parabola over the speed there."""
    unbounded = []
    for side in (found.speeds[found.speeds > 0.0], found.speeds[found.speeds < 0.0]):
        if len(grid := np.unique(side)) < 2:
            continue
        added: list[float] = []
        for pole in swept.poles(grid[0], grid[-1]).tolist():
            k = int(np.clip(np.searchsorted(grid, pole.real), 1, len(grid) - 1))
            reach, width = grid[k] - grid[k - 1], max(abs(pole.imag), NARROW * abs(pole.real))
            offsets = width * 2.0 ** np.arange(-1, max(0.0, np.log2(reach / width)))
            added += [pole.real, *(pole.real + offsets), *(pole.real - offsets)]
            if abs(pole.imag) <= UNDAMPED * abs(pole.real):
                added.remove(pole.real)
                near, beside = np.abs(swept.responses(pole.real + width * np.array([0.1, 0.2])))
                grows = np.flatnonzero(near > GROWTH * beside)
                unbounded += [(float(pole.real), tuple(grows.tolist()))] if len(grows) else []
        found = _with_speeds(swept, found, [speed for speed in added if grid[0] < speed < grid[-1]])
        for _ in range(PARABOLAS):
            if not (vertices := _vertices(found, grid, [speed for speed, _ in unbounded])):
                break
            found = _with_speeds(swept, found, vertices)
    shown = set(found.shown)
    responding = [(speed, tuple(k for k in outputs if k in shown)) for speed, outputs in unbounded]
    return replace(found, unbounded=tuple(sorted(each for each in responding if each[1])))


def _with_speeds(swept: RotorSpeeds, found: UnbalanceResponse, added: list[float]) -> UnbalanceResponse:
    there = found.whole[0]
    new: list[float] = []
    for speed in sorted(added):
        if np.min(np.abs(there - speed)) > CLOSE * abs(speed) and (not new or speed - new[-1] > CLOSE * abs(speed)):
            new.append(speed)
    speeds = np.array(new)
    values = swept.responses(speeds)
    if found.peak_values is not None:
        speeds, values = np.append(found.peak_speeds, speeds), np.concatenate([found.peak_values, values])
    return replace(found, peak_speeds=speeds, peak_values=values)


def _vertices(found: UnbalanceResponse, grid: Floats, unbounded: list[float]) -> list[float]:
    """Speeds at which parabolas through 1/|x|^2 at the peaks of all outputs have their vertex."""
    speeds, values = found.whole
    speeds, first = np.unique(speeds, return_index=True)
    within = (speeds >= grid[0]) & (speeds <= grid[-1])
    speeds, sizes = speeds[within], np.abs(values[first][within])
    vertices = []
    for k in found.shown:
        size = sizes[:, k]
        for i in np.flatnonzero((size[1:-1] >= size[:-2]) & (size[1:-1] > size[2:])) + 1:
            at, inverse = speeds[i - 1 : i + 2] - speeds[i], (size[i] / np.maximum(size[i - 1 : i + 2], TINY)) ** 2
            if any(speeds[i - 1] < speed < speeds[i + 1] for speed in unbounded):
                continue
            left, right = (inverse[0] - inverse[1]) / at[0], (inverse[2] - inverse[1]) / at[2]
            bend = (right - left) / (at[2] - at[0])
            vertex = -0.5 * (left - bend * at[0]) / bend if bend > 0.0 else 0.0
            if at[0] < vertex < at[2] and abs(vertex) > CLOSE * abs(speeds[i]):
                # and beside it, so that the next parabola is through near points
                beside = np.array([0.0, -NEXT, NEXT]) * (at[2] - at[0])
                vertices += [float(x) for x in speeds[i] + vertex + beside if speeds[i - 1] < x < speeds[i + 1]]
    return vertices


def _mode_of(swept: RotorSpeeds, speed: float, eigenvalue: complex) -> str:
    """The number of the mode with an eigenvalue (1/s) at a speed, its whirl, frequency and damping."""
    from femb.vibration.modes import modes

    rate = f"{abs(eigenvalue.imag) / (2.0 * np.pi):.5g} Hz, damping {-eigenvalue.real / abs(eigenvalue):.3g}"
    found = modes(swept.turned(speed), damped=True, start="as_given")
    k = int(np.argmin(np.abs(found.eigenvalues - eigenvalue)))
    if abs(found.eigenvalues[k] - eigenvalue) > ALIKE * abs(eigenvalue):
        return f"{rate} at {speed:.5g} rad/s"
    sense = found.whirl.senses[k] if found.whirl is not None else ""
    return f"mode {k + 1}, {sense or found.labels[k]}, {rate} at {speed:.5g} rad/s"
