"""Columns of the arrays that the kernels over beam elements take.

An element's parameters are rows of three arrays:

    index (n, 8) int    of both frames in q, of both frames in v, of both end strains in q, of both in v;
                        a negative frame index is row -1-i of ``fixed`` in q and "does not move" in v
    ends (n, 2, 13)     per end: 1 if attached off the frame, offset (3) in the frame, rotation (9) frame to section
    data (n, 37)        length, mass and three inertias per length, damping, 1 for source strains, stiffness (16),
                        offset (2) of the mass axis, reference strains (3 x 4)

``beside`` is None where no section has its mass beside the axis, so that numba leaves that part out, else True.
Source: docs/theory/beam.md.
"""

import numpy as np

LENGTH, MASS, INERTIA, DAMPING, SOURCE, STIFFNESS, OFFSET, REFERENCE = 0, 1, 2, 5, 6, 7, 23, 25
# For a literal True, numba would compile a variant of the called kernel.
TRUE = np.True_
