"""Mean and relative pointing errors of ``pointing_budget`` by windows, from the covariance of its linear loop.

``python cases/studies/pointing_budget.py`` prints the predictions of docs/cases/pointing_budget.md.
"""

from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

import femb


def covariances(case, count, step):
    """(count, 3, 3) rad2: of the turn at two instants, by multiples of ``step`` (s) between them."""
    still = [f"wheels.{axis}.{word}_imbalance=0" for axis in "xyz" for word in ("static", "dynamic")]
    model = femb.load_case(case, still).model
    turns = [f"bodies.hub.turn.{axis}" for axis in "xyz"]
    rates = [f"bodies.hub.angular_velocity.{axis}" for axis in "xyz"]
    loop = femb.loop(model).closed([f"{name} error" for name in (*turns, *rates)], turns)
    tracker, gyro = model.sensors["tracker"], model.sensors["gyro"]
    white = gyro.angle_random_walk / np.sqrt(loop.dt)
    state, responses = loop.B * [tracker.noise, tracker.noise, tracker.roll_noise, white, white, white], []
    for _ in range(2500):
        responses.append(loop.C @ state)
        state = loop.A @ state
    h, lags = np.array(responses), np.arange(int(count * step / loop.dt) + 2)
    found = [np.einsum("kij,klj->il", h[: len(h) - lag], h[lag:]) for lag in lags]
    return CubicSpline(loop.dt * lags, found)(step * np.arange(count))


def waves(case):
    """Of each wheel its speed (rad/s), and (2, 3) rad: the turn of the hub that goes with the cosine and the sine."""
    model = femb.load_case(case).model
    for wheel in model.wheels.values():
        across = [axis for axis in np.eye(3) if not axis @ wheel.axis]
        torques = [wheel.dynamic_imbalance * e + np.cross(wheel.at, wheel.static_imbalance * e) for e in across]
        yield wheel.speed, np.array(torques) / np.diag(model.bodies["hub"].inertia)


def predicted(case, windows, step=0.025):
    """RMS (rad) of the mean and of the relative error for each window (s), of output times at multiples of ``step``."""
    counts = [round(window / step) for window in windows]
    traces, rows = np.trace(covariances(case, max(counts), step), axis1=1, axis2=2), []
    for n in counts:
        mean = (traces[0] + 2.0 * (1.0 - np.arange(1, n) / n) @ traces[1:n]) / n
        relative = traces[0] - mean
        for speed, wave in waves(case):
            kept = (np.sin(0.5 * n * speed * step) / (n * np.sin(0.5 * speed * step))) ** 2
            mean, relative = mean + 0.5 * kept * np.sum(wave**2), relative + 0.5 * (1.0 - kept) * np.sum(wave**2)
        rows.append((np.sqrt(mean), np.sqrt(relative)))
    return rows


if __name__ == "__main__":
    windows = (0.2, 0.5, 1.0, 4.0, 10.0)
    for window, (mean, relative) in zip(
        windows, predicted(Path(__file__).parents[1] / "pointing_budget.toml", windows), strict=True
    ):
        print(f"{window} s: mean {1e6 * mean:.3g} urad, relative {1e6 * relative:.3g} urad")
