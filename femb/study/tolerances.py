"""Tolerances: the scatter of outputs that follows from the scatter of parameters, by their derivatives.

    sigma^2 = sum g_j^2 s_j^2,    shares g_j^2 s_j^2/sigma^2,    shift of the mean sum h_jj s_j^2/2

with the derivatives g, the second derivatives h_jj from outputs at p_j +- s_j, and independent parameters of standard
deviations s. Source: docs/theory/sensitivities.md, section 5.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.base.values import shown, whole_number
from femb.case.parameters import DEVIATIONS, Differentiable
from femb.results.array_file import write_arrays
from femb.study.sensitivity import Differences, Sensitivities, outputs_of, parameters_of, read_either
from femb.study.study import Build, Study
from femb.study.sweep import sweep


@dataclass(frozen=True, eq=False)
class Scatter(Tabled):
    """The scatter of o outputs by k parameters.

    sensitivities : of the outputs. deviations (k,) : standard deviations of the parameters. bends (o, k) : second
    derivatives times the squares of these. samples (n, o) : outputs of random runs, n = 0 without; NaN of failed ones.
    """

    sensitivities: Sensitivities
    deviations: Floats
    bends: Floats
    samples: Floats

    @property
    def sigma(self) -> Floats:
        """(o,) standard deviations of the outputs, to first order."""
        return np.asarray(np.linalg.norm(self.sensitivities.derivatives * self.deviations, axis=1))

    @property
    def second(self) -> Floats:
        """(o,) standard deviations to second order, for normal distributions, without mixed second derivatives."""
        return np.asarray(np.sqrt(self.sigma**2 + 0.5 * np.sum(self.bends**2, axis=1)))

    @property
    def shares(self) -> Floats:
        """(o, k) of the variance of an output that each parameter causes; zero where there is none."""
        parts = (self.sensitivities.derivatives * self.deviations) ** 2
        return np.asarray(parts / np.maximum(np.sum(parts, axis=1, keepdims=True), np.finfo(float).tiny))

    @property
    def shift(self) -> Floats:
        """(o,) by what the means differ from the nominal outputs, to second order."""
        return np.asarray(0.5 * np.sum(self.bends, axis=1))

    def table(self) -> str:
        """A block for each output, with the parameters by their shares."""
        of = self.sensitivities
        width = max(12, *(len(name) + 2 for name in of.parameters))
        lines = [of.title] if of.title else []
        for i, name in enumerate(of.outputs):
            unit = of.units.get(name, "")
            lines += ["", f"{name} {of.values[i]:.7g} +- {self.sigma[i]:.3g} {unit}".rstrip()]
            lines.append(f"  second order: deviation {self.second[i]:.4g}, shift of the mean {self.shift[i]:.3g}")
            if len(self.samples):
                known = self.samples[np.isfinite(self.samples[:, i]), i]
                if len(known) > 1:
                    count = len(known)
                    mean, deviation = float(np.mean(known)), float(np.std(known, ddof=1))
                    lines.append(
                        f"  {count} samples: deviation {deviation:.4g} +- {deviation / np.sqrt(2 * count):.2g}, "
                        f"shift {mean - of.values[i]:.3g} +- {deviation / np.sqrt(count):.2g}"
                    )
            lines.append(f"{'by':{width}}{'value':>13}{'deviation':>13}{'of output':>13}{'share':>9}")
            for k in np.argsort(-self.shares[i], kind="stable"):
                moved = of.derivatives[i, k] * self.deviations[k]
                lines.append(
                    f"{of.parameters[k]:{width}}{of.nominal[k]:13.6g}{self.deviations[k]:13.4g}{moved:13.4g}"
                    f"{self.shares[i, k]:9.3f}"
                )
        return "\n".join(lines).lstrip("\n")

    def write(self, path: str | Path) -> Path:
        """Write a .npz with the fields by their names; its path."""
        of = self.sensitivities
        words = {word: getattr(self, word) for word in ("sigma", "second", "shares", "shift", "deviations", "samples")}
        names = {"outputs": of.outputs, "parameters": of.parameters, "values": of.values, "nominal": of.nominal}
        return write_arrays(Path(path), words | names)

    def draw(self, path: str | Path) -> Path:
        """Draw what the deviation of each parameter changes every output by, to the picture file ``path``; its path."""
        from femb.pictures.drawing import save
        from femb.pictures.study import draw_tornado

        of = self.sensitivities
        names = [
            f"{name} +- {sigma:.3g} {of.units.get(name, '')}".rstrip()
            for name, sigma in zip(of.outputs, self.sigma, strict=True)
        ]
        what, moved = "changes by a standard deviation", of.derivatives * self.deviations
        return save(draw_tornado(of.title, what, names, of.parameters, of.values, moved), Path(path))


def tolerances(
    case: Study | Build | str | Path,
    of: Sequence[str] | Mapping[str, Any] | str | None = None,
    by: Sequence[str] | Mapping[str, Any] | str | None = None,
    *,
    samples: int = 0,
    seed: int = 0,
    overrides: Iterable[str] = (),
) -> Scatter:
    """The scatter of outputs of a case that the ranges and distributions of its parameters cause.

    Parameters:
        case: as in ``sensitivities``.
        of: as in ``sensitivities``.
        by: as in ``sensitivities``; every parameter needs a range.
        samples: number of random runs, a Latin hypercube, beside which the scatter stands; 0 without.
        seed: of these.
        overrides: entries to replace, as in ``load_case``.

    Raises:
        ModelError: as ``sensitivities``; a parameter without a range.
    """
    if not whole_number(samples) or samples < 0:
        raise ModelError(f"samples: got {shown(samples)}, wanted a number of random runs, 0 for none")
    study = read_either(case, overrides)
    family = Differences(study, parameters_of(study, by), outputs_of(study, of))
    deviations = np.array([_deviation(each) for each in family.parameters])
    found = family.found()
    bends = np.zeros(found.derivatives.shape)
    for k, (each, step) in enumerate(zip(family.parameters, deviations, strict=True)):
        beside = [family.analyses(each.entries(each.value + sign * step)) for sign in (1.0, -1.0)]
        for i, output in enumerate(family.outputs.values()):
            bends[i, k] = sum(output.value(analyses) for analyses in beside) - 2.0 * found.values[i]
    drawn = np.zeros((0, len(found.outputs)))
    if samples:
        variables = {each.parameter.name: each.parameter.as_variable(each.value) for each in family.parameters}
        sampled = replace(
            study, variables=variables,
            parameters={}, outputs=family.outputs, design="latin-hypercube", runs=samples, seed=seed, best=None,
            constraints={},
        )  # fmt: skip
        # a factor is of the number without it, which its name tells
        table = sweep(replace(sampled, parameters={each.parameter.name: each.parameter for each in family.parameters}))
        drawn = np.array([table.outputs[name] for name in found.outputs]).T
    return Scatter(found, deviations, bends, drawn)


def _deviation(of: Differentiable) -> float:
    """The standard deviation of a parameter. Raises ModelError: it has no range."""
    if of.limits is None:
        where = (of.parameter.table, of.parameter.name, "range")
        raise ModelError.at(where, "is missing; wanted how far the value scatters, as range = '3 %'")
    half = 0.5 * (of.limits[1] - of.limits[0])
    return half / (np.sqrt(3.0) if of.parameter.distribution == "uniform" else DEVIATIONS)
