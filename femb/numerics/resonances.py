"""Frequencies that resolve the resonances of a linear system."""

import numpy as np

from femb.base.types import Complexes, Floats

# Points in a half-power band, 2 zeta f wide; beyond it they follow the hyperbolic sine, down to this number a decade.
IN_BAND, A_DECADE = 24, 60
# Of bands of modes without damping, the smallest width, as a ratio.
NARROW = 1e-4
# Frequencies below this part of the largest are those of rigid motions.
RIGID = 1e-7


def resolving(
    eigenvalues: Complexes, first: float | None = None, last: float | None = None, in_band: int = IN_BAND
) -> Floats:
    """Frequencies (f,) in Hz from first to last that resolve the half-power band of every pole, eigenvalues (n,) 1/s.

    By default from a tenth of the lowest to three times the highest frequency of a pole that is no rigid motion.
    """
    size = np.abs(eigenvalues)
    poles = eigenvalues[(eigenvalues.imag >= 0.0) & (size > RIGID * np.max(size, initial=0.0))]
    centres = np.abs(poles) / (2.0 * np.pi)
    low = first if first is not None else 0.1 * float(np.min(centres)) if len(centres) else 0.01
    high = last if last is not None else 3.0 * float(np.max(centres)) if len(centres) else 100.0
    points = [np.geomspace(low, high, max(2, int(A_DECADE * np.log10(high / low)) + 2)), np.array([low, high])]
    for pole, centre in zip(poles, centres, strict=True):
        ratio = max(-pole.real / abs(pole), NARROW)
        if ratio > 0.3:
            continue
        # the spacing at the centre is the half-width by in_band/2; further out it grows with the distance
        steps = np.arange(0.0, np.arcsinh(0.5 / ratio), 2.0 / in_band)
        offsets = ratio * centre * np.sinh(steps)
        points += [centre - offsets, centre + offsets]
    found: Floats = np.unique(np.concatenate(points))
    return found[(found >= low) & (found <= high)]
