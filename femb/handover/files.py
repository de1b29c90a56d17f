"""The files of each format of ``femb handover``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from warnings import warn

from femb.base.errors import FembWarning, ModelError
from femb.base.values import check_choice, file_words
from femb.handover.craig_bampton import CraigBampton
from femb.handover.flex42 import write_flex42
from femb.handover.fmu import STEP, write_fmu
from femb.handover.hybrid import HybridCoordinates, hybrid_coordinates
from femb.handover.mechanical import hinged_panels, sliding_masses
from femb.handover.port import port
from femb.linear.linearise import plant_of
from femb.linear.state_space import FORMATS as ARRAYS
from femb.model.model import Model
from femb.system.system import System
from femb.vibration.participation import Participation


@dataclass(frozen=True, eq=False)
class HandOver:
    """The options of ``femb handover``: what is handed over of a model.

    held : the hub. count : modes of each appendage. damping : ratio of these in place of modal damping, by default
    0.005 of a model without that. points : names and items. child : item of the child port. inputs, outputs : names of
    ``linearize``, for the FMU. dampers : all of the model, without the default ratio, in the state space and in reduced
    matrices of the whole. Raises ModelError where a format needs what is not given.
    """

    model: Model | System
    held: str | None = None
    count: int = 10
    start: str = "as_given"
    damping: float | None = None
    points: Mapping[str, str] | None = None
    child: str | None = None
    reference: str = "cm"
    hf_factor: float = 1.0
    inputs: Sequence[str] | None = None
    outputs: Sequence[str] | None = None
    step: float = STEP
    dampers: bool = False

    def __post_init__(self) -> None:
        if self.held is not None:
            model = self.model if isinstance(self.model, Model) else self.model.model
            check_choice("hand-over: held", self.held, model.bodies, "bodies")

    @property
    def hub(self) -> str:
        """The name of the hub. Raises ModelError without one."""
        if self.held is None:
            raise ModelError("hand-over: no hub is given, which all formats but the FMU need: --held BODY")
        return self.held

    @cached_property
    def plant(self) -> HybridCoordinates:
        """Hub and appendages in hybrid coordinates."""
        return hybrid_coordinates(
            self.model, self.count, held=self.hub, start=self.start, damping=self.damping, points=self.points
        )

    def hybrid(self, folder: Path) -> list[Path]:
        """Master file, hybrid.json, .npz and .h5."""
        return [self.plant.write(folder / f"hybrid{suffix}") for suffix in (".json", ".npz", ".h5")]

    def state_space(self, folder: Path) -> list[Path]:
        """Hub and appendages as a state space, plant.npz, .mat and .h5, with the points as sensors and actuators."""
        names = tuple(self.points or ())
        space = self.plant.state_space(names, names, dampers=self.dampers)
        return [space.write(folder / f"plant{suffix}") for suffix in ARRAYS]

    def craig_bampton(self, folder: Path) -> list[Path]:
        """Mass, damping and stiffness of the whole and of each appendage, cb_NAME.npz, .mat and .h5."""
        return self._reduced(folder, ARRAYS)

    def nastran(self, folder: Path) -> list[Path]:
        """Write the matrices for NASTRAN, cb_NAME.op4 and .pch."""
        return self._reduced(folder, (".op4", ".pch"))

    def flex42(self, folder: Path) -> list[Path]:
        """Bodies, nodes and modes for the simulator 42."""
        self._say_wheels("42")
        return write_flex42(
            self.model,
            folder,
            self.count,
            held=self.hub,
            reference=self.reference,
            hf_factor=self.hf_factor,
            start=self.start,
            damping=self.damping,
            points=self.points,
        )

    def sliding_masses(self, folder: Path) -> list[Path]:
        """The first mode of each appendage as a sliding mass, sliding_masses.json."""
        self._say_wheels("sliding masses")
        return [sliding_masses(self.plant).write(folder / "sliding_masses.json")]

    def hinged_panels(self, folder: Path) -> list[Path]:
        """The first mode of each appendage as a hinged panel, hinged_panels.json."""
        self._say_wheels("hinged panels")
        return [hinged_panels(self.plant).write(folder / "hinged_panels.json")]

    def port(self, folder: Path) -> list[Path]:
        """The appendage between the hub and the child port, port.npz, .mat and .h5."""
        if self.child is None:
            raise ModelError("hand-over: the port needs the point of its child port: --child ITEM")
        self._say_wheels("port")
        found = port(self.model, self.child, self.count, held=self.hub, start=self.start, damping=self.damping)
        return [found.state_space().write(folder / f"port{suffix}") for suffix in ARRAYS]

    def fmu(self, folder: Path) -> list[Path]:
        """The linear model of ``femb linearize``, with the hub if there is one, linear.fmu."""
        if self.damping is not None and self.held is None:
            raise ModelError("hand-over: a damping ratio is of the modes of appendages: name the hub, --held BODY")
        words: dict[str, Any] = {"start": self.start, "hub": self.held, "damping": self.damping}
        given = {word: value for word, value in words.items() if value is not None}
        space = plant_of(self.model, self.inputs, self.outputs, given)
        for word, names, example in (
            ("inputs", space.inputs, "--input bodies.NAME.torque"),
            ("outputs", space.outputs, "--output bodies.NAME.turn"),
        ):
            if not names:
                none = "no loads, motors or drivers" if word == "inputs" else "neither moving bodies nor joints"
                raise ModelError(f"hand-over: an FMU without {word}: the model has {none}; name some, as {example}")
        if space.unsteady:
            warn(
                f"fmu: linear about unsteady motion, and right for an instant: {space.unsteady}",
                FembWarning,
                stacklevel=2,
            )
        return [write_fmu(space, folder / "linear.fmu", step=self.step)]

    def _say_wheels(self, what: str) -> None:
        if self.plant.gyroscopic is not None:
            warn(
                f"{what}: the files have the mass of wheels, but not the gyroscopic moments of those that spin: add "
                "these as wheels in the other program",
                FembWarning,
                stacklevel=2,
            )

    def _reduced(self, folder: Path, suffixes: Sequence[str]) -> list[Path]:
        files: list[Path] = []
        parts: list[HybridCoordinates | Participation] = [self.plant, *self.plant.appendages]
        matrices = [CraigBampton.of(part, dampers=self.dampers and part is self.plant) for part in parts]
        for name, reduced in zip(file_words(each.name for each in matrices), matrices, strict=True):
            files += [reduced.write(folder / f"cb_{name}{suffix}") for suffix in suffixes]
        return files


WRITERS = {
    "hybrid": HandOver.hybrid,
    "state-space": HandOver.state_space,
    "craig-bampton": HandOver.craig_bampton,
    "nastran": HandOver.nastran,
    "42": HandOver.flex42,
    "sliding-masses": HandOver.sliding_masses,
    "hinged-panels": HandOver.hinged_panels,
    "port": HandOver.port,
    "fmu": HandOver.fmu,
}
