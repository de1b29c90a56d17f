"""Columns of the array arguments of the kernels over beam elements.

The parameters of an element are rows of three arrays:

    index (n, 8) int    index of both frames in q, of both frames in v, of both end strains in q, of both in v;
                        a negative frame index i means row -1-i of ``fixed`` in q and a fixed frame in v
    ends (n, 2, 13)     per end: 1 if it has an offset or a rotation, offset (3) in the frame, section axes (9) in it
    data (n, 37)        length, mass and three inertias per length, damping, 1 for source strains, stiffness (16),
                        offset (2) of the mass axis, reference strains (3 x 4)

``has_mass_offset`` is True if the mass axis of any section has an offset: without one its terms are not evaluated.
Source: docs/theory/beam.md.
"""

import numpy as np

LENGTH, MASS, INERTIA, DAMPING, SOURCE, STIFFNESS, OFFSET, REFERENCE = 0, 1, 2, 5, 6, 7, 23, 25
# numba would compile a separate variant of the called kernel for a literal True.
TRUE = np.True_
