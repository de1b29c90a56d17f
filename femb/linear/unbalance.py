"""Response of a rotor at rest to its unbalances, over its speed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.types import Complexes, Floats
from femb.base.values import as_numbers, listed, shallow_copy, shown
from femb.linear import operating_point
from femb.linear.linearise import linearize
from femb.model.model import Model
from femb.numerics.threads import one_blas_thread
from femb.profiles import Constant
from femb.results.array_file import write_arrays
from femb.small_motions.channels import known_outputs
from femb.vibration.completion import given

if TYPE_CHECKING:
    from femb.case import Given

RPM = 30.0 / np.pi  # rpm of a rad/s
# Of the largest amplitude with the same unit: less is zero by symmetry, and neither listed nor drawn.
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class UnbalanceResponse(Tabled):
    """Vibration by the unbalances of a rotor at its speeds (v,) rad/s: Re(values e^(i |speed| t)).

    values (v, p) : complex, of the outputs (p,), in their ``units``. The phase is from the rotor's x axis at t = 0.
    """

    rotor: str
    speeds: Floats
    outputs: tuple[str, ...]
    units: tuple[str, ...]
    values: Complexes

    @property
    def amplitude(self) -> Floats:
        """(v, p) in the units of the outputs."""
        return np.abs(self.values)

    @property
    def phase(self) -> Floats:
        """(v, p) rad, -pi to pi, positive where the vibration is ahead of the unbalance."""
        return np.angle(self.values)

    @property
    def shown(self) -> list[int]:
        """Numbers of the outputs that respond."""
        peaks, units = self.amplitude.max(axis=0), np.array(self.units)
        return [k for k, peak in enumerate(peaks) if peak > NOTHING * np.max(peaks[units == units[k]])]

    def table(self) -> str:
        """The peak of every output that responds."""
        lines = [f"unbalance response of {self.rotor}, {RPM * self.speeds[0]:.6g} to {RPM * self.speeds[-1]:.6g} rpm"]
        width = max([8, *(len(self.outputs[k]) for k in self.shown)])
        lines.append(f"{'output':<{width}}{'peak':>14}{'unit':>8}{'at rpm':>12}{'rad/s':>12}{'phase deg':>12}")
        for k in self.shown:
            at = int(np.argmax(self.amplitude[:, k]))
            speed, phase = self.speeds[at], np.degrees(self.phase[at, k])
            lines.append(
                f"{self.outputs[k]:<{width}}{self.amplitude[at, k]:14.6g}{self.units[k]:>8}"
                f"{RPM * speed:12.6g}{speed:12.6g}{phase:12.4g}"
            )
        still = [name for k, name in enumerate(self.outputs) if k not in self.shown]
        return "\n".join([*lines, *([f"zero to rounding: {', '.join(still)}"] if still else [])])

    def write(self, path: str | Path) -> Path:
        """Write a .npz with speeds, outputs, units, real and imaginary; its path. Raises ResultError."""
        parts = {"real": self.values.real, "imaginary": self.values.imag}
        return write_arrays(path, {"speeds": self.speeds, "outputs": self.outputs, "units": self.units, **parts})

    def draw(self, path: str | Path) -> Path:
        """Draw amplitude and phase over the speed in rpm to the picture file ``path``."""
        from femb.pictures.drawing import save
        from femb.pictures.frequency import draw_unbalance

        chosen = self.shown
        names = [self.outputs[k] for k in chosen]
        units = [self.units[k] for k in chosen]
        return save(draw_unbalance(RPM * self.speeds, self.values[:, chosen], names, units, self.rotor), Path(path))


@one_blas_thread()
def unbalance_response(
    model: "Given", speeds: Sequence[float], outputs: Sequence[str] | None = None, *, rotor: str | None = None
) -> UnbalanceResponse:
    """The steady vibration of a model at rest by the unbalances of one of its rotors, at each of its speeds.

    Bearings with tables have the coefficients of the speed.

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
    found = []
    for speed in numbers.tolist():
        turned, loads = _at_speed(whole, rotors[rotor], speed)
        inputs = [f"loads.{load.name}.force.factor" for load in loads]
        space = linearize(turned, at_rest=True, inputs=inputs, outputs=outputs)
        phases = np.exp(1j * np.array([load.profile.phase - 0.5 * np.pi for load in loads]))
        response = space.frequency_response([abs(speed) / (2.0 * np.pi)]).values[0]
        found.append(response @ phases)
    units = tuple(space.units.get(name, "") for name in space.outputs)
    return UnbalanceResponse(f"rotors.{rotor}", np.asarray(numbers), tuple(space.outputs), units, np.array(found))


def _at_speed(model: Model, rotor: Any, speed: float) -> tuple[Model, tuple[Any, ...]]:
    """The model with another speed of a rotor, and the forces of its unbalances, which are zero at its start."""
    other = shallow_copy(model)
    other.tables = {table: dict(items) for table, items in model.tables.items()}
    other.remove(rotor)
    turned = replace(rotor, speed=speed)
    other.add(replace(turned, unbalances=None))
    for load in turned.parts():
        other.add(replace(load, profile=Constant(0.0)))
    return other, turned.parts()
