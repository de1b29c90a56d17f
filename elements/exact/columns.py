"""Columns of the array arguments of the kernels over exact beam elements.

The parameters of an element are rows of three arrays:

    index (n, 4) int    index of both frames in q, of both frames in v; a negative frame index i means row -1-i of
                        ``fixed`` in q and a fixed frame in v
    ends (n, 2, 17)     per end: 1 if it has an offset or a rotation, offset (3) in the frame, section axes (9) in it,
                        their quaternion (4)
    data (n, 171)       length, damping, reference coordinates d0 (6), compliances Fm (36), Fq (36) and G (36), points y
                        (4 x 3) and inertias J11, J12, J22 (27) in frame axes, masses h (4 x 4) of the points
    data (n, 279)       where a section has damping coefficients that differ: also Fm, Fq and G of the viscous
                        compliance, for the elements whose damping is ``BY_DIRECTION``

Source: docs/theory/exact_beam.md, section 12.
"""

LENGTH, DAMPING, REFERENCE, MEAN, QUADRATIC, SLOPE, POINTS, ROTARY, MASSES = 0, 1, 2, 8, 44, 80, 116, 128, 155
COLUMNS = MASSES + 16
VISCOUS_MEAN, VISCOUS_QUADRATIC, VISCOUS_SLOPE = COLUMNS, COLUMNS + 36, COLUMNS + 72
ALL_COLUMNS = COLUMNS + 108
# In place of the damping coefficient of an element.
BY_DIRECTION = -1.0
