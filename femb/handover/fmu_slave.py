"""The script inside of the FMUs that femb writes: a linear model, integrated exactly over each communication step.

    x' = A x + B u,   y = C x + D u,   x(t + h) = e^(A h) x(t) + (integral of e^(A s) ds from 0 to h) B u

Inputs are constant over a step, as a sampled controller gives them. It needs numpy alone; femb need not be installed.
"""

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from pythonfmu import DefaultExperiment, Fmi2Causality, Fmi2Initial, Fmi2Slave, Fmi2Variability, Real

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

# Of a power series of the exponential: the norm at which it begins, and its terms.
SMALL, TERMS = 0.5, 14


def exponential_less_one(X: Array) -> Array:
    """e^X - 1 (n, n): the identity, beside which slow motions would be rounding, is in no step."""
    norm = float(np.max(np.sum(np.abs(X), axis=0), initial=0.0))
    halvings = max(0, int(np.ceil(np.log2(norm / SMALL)))) if norm > 0.0 else 0
    X = X / 2.0**halvings
    E = X / TERMS
    for k in range(TERMS - 1, 0, -1):
        E = (X + X @ E) / k
    for _ in range(halvings):
        E = 2.0 * E + E @ E
    return np.asarray(E, dtype=np.float64)


class LinearSlave(Fmi2Slave):
    """A state space of small changes about an operating point; its states start at zero or at its parameters."""

    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        with np.load(Path(self.resources) / "linear.npz") as file:
            self.A, self.B, self.C, self.D = (file[word] for word in "ABCD")
            # of the states: for these the exponential of A, with its entries of omega^2, keeps its digits
            self.sizes, self.inverse = file["sizes"], file["inverse"]
            variables = [[tuple(map(str, row)) for row in file[word]] for word in ("inputs", "outputs", "states")]
            self.modelName, self.description = str(file["name"]), str(file["description"])
            self.default_experiment = DefaultExperiment(step_size=float(file["step"]))
        # x : states in which A is best known, by those of the start
        self.start, self.u = np.zeros(self.inverse.shape[1]), np.zeros(self.B.shape[1])
        self.x = self.inverse @ self.start
        self.steps: dict[float, tuple[Array, Array]] = {}
        inputs, outputs, states = variables
        # "-" is a factor, and "" unknown
        self.units = {name: unit for name, _, unit in (*inputs, *outputs) if unit not in ("", "-")}
        for k, (name, meaning, _) in enumerate(inputs):
            self._add(name, meaning, Fmi2Causality.input, self.u, k)
        for k, (name, meaning, _) in enumerate(outputs):
            self.register_variable(
                Real(name, description=meaning, causality=Fmi2Causality.output, getter=self._output(k)), nested=False
            )
        for k, (name, meaning, _) in enumerate(states):
            self._add(f"start.{name}", f"at the start: {meaning}", Fmi2Causality.parameter, self.start, k)

    def _add(self, name: str, meaning: str, causality: Fmi2Causality, values: Array, k: int) -> None:
        fixed = causality == Fmi2Causality.parameter
        words = {"variability": Fmi2Variability.fixed, "initial": Fmi2Initial.exact} if fixed else {}

        def put(value: float) -> None:
            values[k] = value
            if fixed:
                self.x = self.inverse @ self.start

        variable = Real(
            name, start=0.0, description=meaning, causality=causality, getter=lambda: values[k], setter=put, **words
        )
        self.register_variable(variable, nested=False)

    def to_xml(self, *arguments: Any, **words: Any) -> Element:
        """The description of the model, with what the standard asks for beside that of pythonfmu."""
        root: Element = super().to_xml(*arguments, **words)
        structure = root.find("ModelStructure")
        outputs = None if structure is None else structure.find("Outputs")
        if structure is not None and outputs is not None:
            unknowns = SubElement(structure, "InitialUnknowns")
            for output in outputs:
                SubElement(unknowns, "Unknown", index=output.attrib["index"])
        self._add_units(root)
        return root

    def _add_units(self, root: Element) -> None:
        """Units of variables, and their definitions, which the standard wants before the default experiment."""
        for variable in root.iter("ScalarVariable"):
            unit, real = self.units.get(variable.attrib["name"]), variable.find("Real")
            if unit is not None and real is not None:
                real.set("unit", unit)
        if self.units:
            definitions = Element("UnitDefinitions")
            for unit in dict.fromkeys(self.units.values()):
                SubElement(definitions, "Unit", name=unit)
            first = next(k for k, child in enumerate(root) if child.tag not in ("ModelExchange", "CoSimulation"))
            root.insert(first, definitions)

    def _output(self, k: int) -> Any:
        return lambda: self.C[k] @ self.x + self.D[k] @ self.u

    def do_step(self, current_time: float, step_size: float) -> bool:
        """Advance the states by a step with constant inputs."""
        if step_size not in self.steps:
            n, m = self.B.shape
            whole = np.zeros((n + m, n + m))
            rows = self.sizes[:, None]
            whole[:n, :n], whole[:n, n:] = self.A * self.sizes / rows * step_size, self.B / rows * step_size
            by = exponential_less_one(whole)[:n] * rows
            self.steps[step_size] = by[:, :n] / self.sizes, by[:, n:]
        by_x, by_u = self.steps[step_size]
        self.x = self.x + by_x @ self.x + by_u @ self.u
        return True

    def _get_fmu_state(self) -> dict[str, Any]:
        return {"x": self.x.tolist(), "u": self.u.tolist()}

    def _set_fmu_state(self, state: dict[str, Any]) -> None:
        self.x, self.u[:] = np.array(state["x"]), state["u"]
