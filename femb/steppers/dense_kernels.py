"""Kernels of the quintic Hermite interpolation; see ``femb.steppers.dense``."""

from femb.numerics.compile import inlined, kernel


@inlined
def weights(powers, x, value, slope, bend):
    """value, slope, bend (6,): the weights at the passed part x of a step and their first two derivatives."""
    for m in range(6):
        f = f1 = f2 = 0.0
        for k in range(5, -1, -1):
            f2 = f2 * x + 2.0 * f1
            f1 = f1 * x + f
            f = f * x + powers[m, k]
        value[m], slope[m], bend[m] = f, f1, f2


@kernel
def interpolate(powers, q, rate, bend, h, theta, of_step, work, out, slopes, bends):
    """out, slopes, bends (k, n_q): q, q' and q'' at the passed parts theta (k,) of the steps with numbers of_step (k,).

    powers (6, 6) : see ``WEIGHTS``. q, rate, bend (2, s, n_q) : q, q' and q'' at both ends of the steps, h (s,) : their
    lengths. bends may have no rows and is left then. work (3, 6).
    """
    value, slope, second = work[0], work[1], work[2]
    for i in range(theta.size):
        s = of_step[i]
        weights(powers, theta[i], value, slope, second)
        d = h[s]
        for m in range(2):
            # of rates by the length of the step, of second derivatives by its square
            value[2 + m], slope[2 + m], second[2 + m] = d * value[2 + m], d * slope[2 + m], d * second[2 + m]
            value[4 + m], slope[4 + m] = d * d * value[4 + m], d * d * slope[4 + m]
            second[4 + m] *= d * d
        for j in range(q.shape[2]):
            first, change = q[0, s, j], q[1, s, j] - q[0, s, j]
            r0, r1, b0, b1 = rate[0, s, j], rate[1, s, j], bend[0, s, j], bend[1, s, j]
            out[i, j] = first + (value[1] * change + value[2] * r0 + value[3] * r1 + value[4] * b0 + value[5] * b1)
            slopes[i, j] = (slope[1] * change + slope[2] * r0 + slope[3] * r1 + slope[4] * b0 + slope[5] * b1) / d
        if bends.shape[0] > 0:
            for j in range(q.shape[2]):
                change = q[1, s, j] - q[0, s, j]
                x = second[1] * change + second[2] * rate[0, s, j] + second[3] * rate[1, s, j]
                bends[i, j] = (x + second[4] * bend[0, s, j] + second[5] * bend[1, s, j]) / (d * d)
