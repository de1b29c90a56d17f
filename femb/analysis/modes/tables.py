"""Tables of modes for the screen."""

import numpy as np

from femb.analysis.modes.modes import Modes
from femb.analysis.modes.participation import DIRECTIONS, Participation
from femb.base.values import numbered

# Of the rigid mass in a direction: less than this is worth a warning, as standards of loads analyses ask.
ENOUGH = 0.9


def modes_table(modes: Modes) -> str:
    """State, motions without stiffness, and a line for each mode; then the appendages of a held body."""
    held = f", {modes.held} held" if modes.held else ""
    lines = [f"{numbered(len(modes.frequencies), 'mode')} of the {modes.state} structure{held}"]
    lines.append(
        f"motions without stiffness: {numbered(modes.rigid, 'rigid-body motion')}, "
        f"{numbered(modes.joint, 'motion')} of joints"
    )
    lines += ["", f"{'mode':>4}{'frequency Hz':>14}{'damping':>11}  moves most"]
    for k, (frequency, ratio, label) in enumerate(zip(modes.frequencies, modes.damping, modes.labels, strict=True)):
        share = float(np.max(modes.energy[k]))
        lines.append(f"{k + 1:4d}{frequency:14.6g}{ratio:11.3g}  {label}, {100.0 * share:.0f} % of the kinetic energy")
    for part in modes.appendages:
        lines += ["", participation_table(part)]
    return "\n".join(lines)


def participation_table(part: Participation) -> str:
    """Rigid mass, a line for each mode with its effective masses as parts of that, and their sums."""
    whole = np.diag(part.rigid_mass)
    point = ", ".join(f"{x:.6g}" for x in part.point)
    lines = [
        f"appendage {part.name}, about its root at ({point}) m, with {100.0 * part.damping[0]:.3g} % damping",
        f"rigid mass {whole[0]:.6g} kg; moments of inertia {', '.join(f'{x:.6g}' for x in whole[3:])} kg m2",
        "effective mass in % of the rigid mass",
        f"{'mode':>4}{'frequency Hz':>14}" + "".join(f"{word:>9}" for word in DIRECTIONS) + f"{'lever m':>11}",
    ]
    for k, (frequency, row, lever) in enumerate(zip(part.frequencies, part.fractions, part.lever, strict=True)):
        numbers = "".join(f"{100.0 * x:9.3f}" for x in row)
        lines.append(f"{k + 1:4d}{frequency:14.6g}{numbers}" + (f"{lever:11.4g}" if lever < 1e6 else f"{'-':>11}"))
    total = np.sum(part.fractions, axis=0)
    clamped = np.diag(part.clamped_mass) / np.where(whole > 0.0, whole, 1.0)
    lines.append(f"{'sum':>4}{'':14}" + "".join(f"{100.0 * x:9.3f}" for x in total))
    lines.append(f"{'root':>4}{'':14}" + "".join(f"{100.0 * x:9.3f}" for x in clamped))
    poor = [word for word, x, share in zip(DIRECTIONS, total, clamped, strict=True) if x < ENOUGH * (1.0 - share)]
    if poor:
        lines.append(
            f"below {100.0 * ENOUGH:.0f} % in {', '.join(poor)}: ask for more modes where these directions count"
        )
    return "\n".join(lines)
