"""Derivatives of a panel that latches, by femb and by CVODE with the variational equations: values and cost.

The equations of the other program are its own: a hub and a panel in a plane, two angles, derivatives of the right side
by the complex step. CVODE (scikit-sundae) solves them together with those of eight parameters, as CVODES does with one
corrector for all. After the latch the satellite is at rest, since it was at the start.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sksundae.cvode import CVODE

import femb

sys.path += [str(Path(__file__).resolve().parents[2] / name) for name in ("docs", "tests")]
from validation_sensitivities import MOTIONS

# spring, damper, free angle, mass and inertia of the panel, arm, inertia of the hub, start
NUMBERS = np.array([0.1, 0.05, -2.0, 6.0, 1.04, 0.6, 25.0, np.pi / 2.0])
SIGNS = np.array([1, 1, 1, 1, 1, -1, 1, 1])  # the arm is negative in the case of femb
HUB, TINY = 120.0, 1e-30


def rates(y, p):
    """Rates of two angles and their rates, of the hub and of the panel to it."""
    k, c, free, m, inertia, arm, hub, _ = p
    _, angle, spin, rate = y
    reduced = m * HUB / (m + HUB)
    lever, slope = 0.5 * arm * (np.cos(angle) - np.sin(angle)), -0.5 * arm * (np.sin(angle) + np.cos(angle))
    own = inertia + reduced * arm**2
    mixed = -(own + reduced * lever)
    whole = hub + own + reduced * (0.5 + 2.0 * lever)
    first = -reduced * slope * (2.0 * rate * spin - rate**2)
    second = -k * (angle - free) - c * rate + reduced * slope * spin**2
    det = whole * own - mixed**2
    return np.array([spin, rate, (own * first - mixed * second) / det, (whole * second - mixed * first) / det])


def solved(rtol, with_derivatives):
    """The instant, the angle of the hub, their derivatives (2, 8), and evaluations of the right side."""
    count = len(NUMBERS) if with_derivatives else 0
    parameters = NUMBERS[:, None] + 1j * TINY * np.eye(len(NUMBERS))[:, :count]
    calls = [0]

    def right(t, y, out):
        calls[0] += 1
        out[:4] = rates(y[:4], NUMBERS)
        if count:
            S = y[4:].reshape(4, count)
            out[4:] = (rates(y[:4, None] + 1j * TINY * S, parameters).imag / TINY).ravel()

    def event(t, y, out):
        out[0] = y[1]

    event.terminal, event.direction = [True], [-1]
    start = np.zeros(4 + 4 * count)
    start[1] = NUMBERS[-1]
    if count:
        start[4:].reshape(4, count)[1, -1] = 1.0
    scheme = CVODE(
        right, method="Adams", rtol=rtol, atol=rtol * 1e-2, eventsfn=event, num_events=1, max_num_steps=100_000
    )
    found = scheme.solve(np.linspace(0.0, 8.0, 3), start)
    t, y = found.t[-1], found.y[-1]
    if not count:
        return t, y[0], None, calls[0]
    S = y[4:].reshape(4, count)
    moves = -S[1] / y[3]
    return t, y[0], np.array([moves, S[0] + y[2] * moves]) * SIGNS, calls[0]


def cpu(function, *args):
    """The shortest of three CPU times (s), and the result."""
    times = []
    for _ in range(3):
        start = time.process_time()
        result = function(*args)
        times.append(time.process_time() - start)
    return min(times), result


def main() -> None:
    """Print the table."""
    table = MOTIONS["panel with a latch"]
    wanted = np.array([table.wanted[name][1:] for name in ("instant", "hub")])
    scale = np.max(np.abs(wanted * NUMBERS), axis=1, keepdims=True)

    def show(title, run, whole, derivatives, more=""):
        away = np.max(np.abs(derivatives - wanted) * NUMBERS / scale)
        print(f"{title}: run {run:.4f} s, with 8 derivatives {whole / run:.2f} runs{more}; away {away:.1e}", flush=True)

    for rtol in (1e-8, 1e-10):
        run, (*_, calls) = cpu(solved, rtol, False)
        whole, (_, _, derivatives, with_them) = cpu(solved, rtol, True)
        show(f"CVODE, rtol {rtol:g}", run, whole, derivatives, f", {calls} and {with_them} evaluations")
        with tempfile.TemporaryDirectory() as name:
            folder, words = Path(name), [f"run.rtol={rtol:g}"]
            table.found(folder, words)
            case = femb.load_case(folder / "case.toml", words)
            run, _ = cpu(femb.simulate, case.model, case.run)
            whole, found = cpu(table.found, folder, words)
        show(f"femb, rtol {rtol:g}", run, whole, found.derivatives[:2])


if __name__ == "__main__":
    main()
