"""States at which the stages of an explicit Runge-Kutta step are evaluated."""

from femb.numerics.compile import inlined


@inlined
def stage_state(A, s, h, y0, K, y):
    """y (n,) = y0 + h sum A[s, m] K[m] over the stages before s."""
    for i in range(y0.size):
        y[i] = y0[i]
    for m in range(s):
        weight = h * A[s, m]
        if weight != 0.0:
            for i in range(y0.size):
                y[i] += weight * K[m, i]
