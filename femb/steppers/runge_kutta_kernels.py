"""The error estimate of DOP853 in one call."""

import numpy as np

from femb.numerics.compile import kernel
from femb.numerics.kinematics import error_norm


@kernel
def error_size(E5, E3, scale_q, scale_v, n_q, h, y0, y1, K, fifth):
    """Norms of the estimates of order 5 and 3 of a step of length h from y0 to y1 (n,); fifth (n,) is the former.

    E5, E3 (stages,) : coefficients of the rates K. scale_q, scale_v : as ``error_norm`` takes them.
    """
    n = y0.size
    third, scale = np.empty(n), np.empty(n)
    for i in range(n):
        a = b = 0.0
        for s in range(E5.size):
            a += E5[s] * K[s, i]
            b += E3[s] * K[s, i]
        fifth[i], third[i] = h * a, h * b
        scale[i] = max(abs(y0[i]), abs(y1[i]))
    start_q, size_q, atol_q, rtol_q = scale_q
    start_v, size_v, atol_v, rtol_v = scale_v
    five = three = 0.0
    for order in range(2):
        error = fifth if order == 0 else third
        worst = max(
            error_norm(start_q, size_q, atol_q, rtol_q, error[:n_q], scale[:n_q]),
            error_norm(start_v, size_v, atol_v, rtol_v, error[n_q : n - 1], scale[n_q : n - 1]),
        )
        if order == 0:
            five = worst
        else:
            three = worst
    return five, three
