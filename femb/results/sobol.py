"""Sobol indices of the outputs of a study: the shares of the variables in the variance of an output.

    S_i  = mean(f_B (f_ABi - f_A)) / var        of variable i alone, first order
    ST_i = mean((f_A - f_ABi)^2) / (2 var)      with its interactions, total

f_A and f_B : outputs of two independent samples, f_ABi : of the first with variable i of the second. The outputs are
counted from their mean, as ``scipy.stats.sobol_indices`` does, which knows only complete samples of a power of two;
here samples with a failed run are left out. Source: A. Saltelli et al., Variance based sensitivity analysis of model
output, Computer Physics Communications 181 (2010), table 2 (b) and (f).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from femb.base.errors import ResultError
from femb.base.html import Tabled
from femb.base.types import Floats
from femb.base.values import check_kind
from femb.results.sweep import Sweep

RESAMPLES, SEED = 999, 0
FEWEST = 8


@dataclass(frozen=True, eq=False)
class SobolIndices(Tabled):
    """Sobol indices of one output over d ``variables``: shares of its variance, and the number of samples.

    first, total (d,) : of first order, and total. first_interval, total_interval (d, 2) : 95 % intervals of the
    shares."""

    output: str
    variables: Sequence[str]
    first: Floats
    total: Floats
    first_interval: Floats
    total_interval: Floats
    samples: int

    def table(self) -> str:
        """A line for each variable."""
        width = max(16, *(len(name) + 2 for name in self.variables))
        head = f"{'variable':{width}}{'first order':>12}{'95 % interval':>20}{'total':>10}{'95 % interval':>20}"
        lines = [f"Sobol indices of {self.output}, {self.samples} samples", head]
        for k, name in enumerate(self.variables):
            spans = [f"{low:.3f} to {high:.3f}" for low, high in (self.first_interval[k], self.total_interval[k])]
            lines.append(f"{name:{width}}{self.first[k]:12.3f}{spans[0]:>20}{self.total[k]:10.3f}{spans[1]:>20}")
        return "\n".join(lines)


def sobol_indices(sweep: Sweep, output: str) -> SobolIndices:
    """The indices of an output of a sweep, with 95 % intervals by bootstrapping its samples.

    Parameters:
        sweep: the table of a study with the design "saltelli".
        output: its name.

    Raises:
        ResultError: an unknown output, another design, too few complete samples, an output without variance.
    """
    check_kind("Sobol indices", sweep, Sweep, "a femb.Sweep")
    if sweep.design != "saltelli":
        raise ResultError(f"Sobol indices need the design 'saltelli', got {sweep.design!r}: take femb sweep --sobol")
    if output not in sweep.outputs:
        raise ResultError(f"no output {output!r} in this study; there are: {', '.join(sweep.outputs)}")
    d = len(sweep.variables)
    values = sweep.outputs[output].reshape(d + 2, -1)
    values = values[:, np.all(np.isfinite(values), axis=0)]
    n = values.shape[1]
    if n < FEWEST:
        raise ResultError(f"Sobol indices of {output}: got {n} complete samples, wanted at least {FEWEST}")
    if not np.ptp(values[:2]) > 1e-12 * np.max(np.abs(values)):
        raise ResultError(f"Sobol indices of {output}: it is the same in all runs")
    first, total = _estimates(values)
    rng = np.random.default_rng(SEED)
    resampled = np.array([_estimates(values[:, rng.integers(0, n, n)]) for _ in range(RESAMPLES)])
    low, high = np.quantile(resampled, (0.025, 0.975), axis=0)
    return SobolIndices(
        output,
        tuple(sweep.variables),
        first,
        total,
        np.stack([low[0], high[0]], axis=1),
        np.stack([low[1], high[1]], axis=1),
        n,
    )


def all_indices(sweep: Sweep) -> tuple[dict[str, SobolIndices], list[str]]:
    """The indices of all outputs that have them, and why the others have none."""
    found: dict[str, SobolIndices] = {}
    problems = []
    for name in sweep.outputs:
        try:
            found[name] = sobol_indices(sweep, name)
        except ResultError as error:
            problems.append(str(error))
    return found, problems


def _estimates(values: Floats) -> tuple[Floats, Floats]:
    """First-order and total indices (d,) from the outputs (d + 2, n) of the samples A, B, AB1, ..., ABd."""
    f_A, f_B, *f_AB = values - np.mean(values[:2])
    mixed = np.array(f_AB)
    variance = max(float(np.var([f_A, f_B])), np.finfo(float).tiny)
    first = np.mean(f_B * (mixed - f_A), axis=1) / variance
    return first, 0.5 * np.mean((f_A - mixed) ** 2, axis=1) / variance
