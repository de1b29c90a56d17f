"""What statics gives: results by load factor, states to start from, and buckling modes by name."""

import warnings
from typing import Self

import numpy as np

from femb.analysis.critical_loads import Critical
from femb.analysis.load_path import Equilibrium
from femb.analysis.neutral import motion_name, motion_of
from femb.analysis.stability import negative_stiffness
from femb.analysis.statics import Statics
from femb.base.errors import FembWarning
from femb.base.html import table
from femb.base.types import Floats
from femb.layout.layout import Station
from femb.results.arrays import listing
from femb.results.frames import Frames, unbalanced
from femb.results.results import Results
from femb.system.stacked import least_multipliers
from femb.system.system import System

NO_WORK = ("audit/work", "audit/energy_error")  # depend on how the loads came on


class StaticResults(Results):
    """Equilibria of a model, one a load factor; everything of ``Results``, whose times count the states from 0.

    Results that are read from a file hold the same arrays by their paths, "static/load_factor" and so on, but cannot
    be a start. Not pickled as such: a copy is plain ``Results``.
    """

    @classmethod
    def of(cls, results: Results, system: System, states: list[Equilibrium]) -> Self:
        """Results with the ``states`` of the ``system`` that they are of."""
        found = cls(results.series, results.static, results.attributes)
        found._system, found._states = system, states
        return found

    _system: System
    _states: list[Equilibrium]

    @property
    def load_factor(self) -> Floats:
        """(T,) of every state."""
        return self.arrays["static/load_factor"]

    @property
    def negative_eigenvalues(self) -> Floats:
        """(T,) how many eigenvalues of the stiffness are negative: zero where the equilibrium is stable. -1
        of structures that turn, whose stability the stiffness does not tell."""
        return self.arrays["static/negative_eigenvalues"]

    @property
    def stability(self) -> tuple[str, ...]:
        """(T,) of every state: "stable", "unstable", or "not judged" of structures that turn."""
        return tuple("stable" if n == 0 else "unstable" if n > 0 else "not judged" for n in self.negative_eigenvalues)

    @property
    def neutral_motions(self) -> Floats:
        """(T,) how many motions have no stiffness: rigid ones of free structures, and those of joints. Stability does
        not tell of these."""
        return self.arrays["static/neutral_motions"]

    @property
    def iterations(self) -> Floats:
        """(T,) corrections of Newton's iteration that found the state, in its last step."""
        return self.arrays["static/iterations"]

    @property
    def critical_load_factors(self) -> Floats:
        """(m,) where eigenvalues change their sign, in the order of the path; only those that were asked for."""
        return self.arrays["static/critical_load_factor"]

    @property
    def mode_names(self) -> tuple[str, ...]:
        """(m,) what moves most in the mode of each critical load factor."""
        return tuple(map(str, self.arrays["static/mode_names"])) if "static/mode_names" in self.arrays else ()

    def _repr_html_(self) -> str:
        factors, negative = self.load_factor, self.negative_eigenvalues
        rows = [("status", self.status)]
        if factors.size:
            rows.append(("load factors", f"{factors.size} states, {factors[0]:g} to {factors[-1]:g}"))
            loose = factors[negative > 0]
            rows.append(("stability", f"unstable from {loose[0]:g} on" if loose.size else "no negative eigenvalue"))
        critical = self.critical_load_factors if "static/critical_load_factor" in self.arrays else ()
        rows += [
            ("critical load factor", f"{factor:.6g}, {name}")
            for factor, name in zip(critical, self.mode_names, strict=False)
        ]
        names = ((kind, getattr(self, kind)) for kind in ("bodies", "beams", "joints"))
        return table(self.title or "Statics", [*rows, *((kind, listing(items, 6)) for kind, items in names if items)])

    def __repr__(self) -> str:
        factors = self.load_factor
        span = f"load factors {factors[0]:g} to {factors[-1]:g}" if factors.size else "no load factors"
        return f"<StaticResults: {self.status}, {factors.size} states, {span}>"

    def mode(self, k: int, item: str) -> tuple[Floats, Floats]:
        """Translations and rotations of mode ``k``, counted from 0, in inertial axes and relative to each other, m and
        rad: of the ``item`` "bodies/NAME" (3,) each, of "beams/NAME" (n, 3)."""
        path = f"static/modes/{item}"
        return self.arrays[f"{path}/translation"][k], self.arrays[f"{path}/rotation"][k]

    def start(self, k: int = -1) -> System:
        """The system that starts in state k: for ``simulate``, ``linearize``, ``operating_point`` and the like.

        It has the model's own loads: under them it is in equilibrium where its load factor is one. Warns of an unstable
        state.
        """
        state = self._states[k]
        if state.negative > 0:
            warnings.warn(
                f"the equilibrium at the load factor {state.load:g} is unstable: {negative_stiffness(state.negative)}",
                FembWarning,
                stacklevel=2,
            )
        q = state.found.q
        return self._system.with_discrete(state.discrete).starting_at(q, np.zeros(self._system.n_v))


def static_frame(
    statics: Statics, system: System, number: int, state: Equilibrium
) -> tuple[Frames, dict[str, Floats], System, tuple[str, ...]]:
    """What ``Recording.add`` takes of a state: its frame, its arrays, the system under its weight, and what to omit."""
    found = state.found
    u, v, a = statics.state(found.q, found.load)
    weighed = system if statics.gravity is None else system.with_gravity(found.load * statics.gravity)
    q, multipliers = found.q, found.multipliers
    if system.layout.has_loops:
        multipliers = least_multipliers(system, u[None], q[None], multipliers[None])[0]
    coordinates, rates = system.with_discrete(state.discrete).joint_motion(q, v)
    one = (q[None], v[None], a[None], multipliers[None])
    left = unbalanced(weighed, u[None], *one)
    frame = Frames(
        np.array([float(number)]), one[0], one[1], np.zeros(1), u[None], one[2], one[3], coordinates[None], rates[None],
        left,
    )  # fmt: skip
    more = {
        "static/load_factor": np.array([found.load]),
        "static/negative_eigenvalues": np.array([state.negative]),
        "static/neutral_motions": np.array([state.neutral.count if state.neutral is not None else 0]),
        "static/iterations": np.array([found.iterations]),
    }
    return frame, more, weighed, NO_WORK


def mode_arrays(system: System, statics: Statics, found: list[Critical]) -> dict[str, Floats]:
    """Arrays of the results of critical loads: their factors, the names and the shapes of their modes."""
    layout = system.layout
    arrays: dict[str, Floats] = {"static/critical_load_factor": np.array([each.load for each in found])}
    if not found:
        return arrays
    modes = [(each.before.found.q, each.mode) for each in found]
    names = [motion_name(layout, q, mode, statics.weights) for q, mode in modes]
    arrays["static/mode_names"] = np.array(names)
    items = {f"bodies/{name}": [Station(frame)] for name, frame in layout.bodies.items()}
    items |= {f"beams/{name}": beam.stations for name, beam in layout.beams.items()}
    for path, stations in items.items():
        motions = [[motion_of(layout, station, q, mode) for station in stations] for q, mode in modes]
        for i, word in enumerate(("translation", "rotation")):
            values = np.array([[motion[i] for motion in row] for row in motions])
            arrays[f"static/modes/{path}/{word}"] = values[:, 0] if path.startswith("bodies/") else values
    return arrays
