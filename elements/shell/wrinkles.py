"""Kernels of wrinkling: what membranes that bear no pressure add to stresses, stiffness and energy of a shell.

Source: docs/theory/shell.md, section 11.
"""

import math

from femb.elements.shell.stiffness import LEAST_STRAIN
from femb.numerics.compiler.compile import inlined
from femb.numerics.compiler.lanes import choose, every


@inlined
def wrinkle(count, strains, Y, nu, e, change):
    """change (9,): what wrinkling adds at a point, where membrane strains are ``strains`` (3 count,) times e, to the
    membrane forces 11, 22, 12 and to their derivatives by the strains 11, 12, 22 and 66 in principal axes; and the
    cosine and sine of twice the angle of these. Returns what it adds to the energy. Source: section 11.
    """
    a, b, c = 0.0 * Y, 0.0 * Y, 0.0 * Y
    for k in range(count):
        a += strains[k] * e[k]
        b += strains[count + k] * e[k]
        c += strains[2 * count + k] * e[k]
    half, zero = 0.5 * (a - b), 0.0 * Y
    radius = math.sqrt(half * half + 0.25 * c * c)
    first, second = 0.5 * (a + b) + radius, 0.5 * (a + b) - radius
    safe = choose(radius > 0.0, radius, 1.0 + zero)
    cosine, sine = half / safe, 0.5 * c / safe
    plane = Y / (1.0 - nu * nu)
    taut = second + nu * first >= -LEAST_STRAIN
    along = choose(first > 0.0, Y, zero)
    of_first = along * first - plane * (first + nu * second)
    of_second = -plane * (second + nu * first)
    mean, part = 0.5 * (of_first + of_second), 0.5 * (of_first - of_second)
    change[0] = choose(taut, zero, mean + part * cosine)
    change[1] = choose(taut, zero, mean - part * cosine)
    change[2] = choose(taut, zero, part * sine)
    change[3] = choose(taut, zero, along - plane)
    change[4] = choose(taut, zero, -plane * nu)
    change[5] = choose(taut, zero, -plane)
    change[6] = choose(taut, zero, 0.25 * along * first / safe - 0.5 * Y / (1.0 + nu))
    change[7], change[8] = cosine, sine
    return choose(taut, zero, 0.5 * (of_first * first + of_second * second))


@inlined
def add_wrinkles(n, tension, e, change, s):
    """s (m,) += what wrinkling adds to the stresses at strains e; returns what it adds to the energy."""
    count, total = 5 if n == 4 else 3, 0.0 * e[0]
    size = 3 * count + 1
    for o in range(0, tension.size - 1, size):
        total += wrinkle(count, tension[o : o + size - 1], tension[o + size - 1], tension[tension.size - 1], e, change)
        for k in range(count):
            for i in range(3):
                s[k] += tension[o + count * i + k] * change[i]
    return total


@inlined
def add_wrinkle_stiffness(n, tension, e, change, B, rows, K):
    """K (6 n, 6 n) += what wrinkling adds to the stiffness at strains e; rows (6, 6 n) : strains and forces at a
    point by the motion."""
    count = 5 if n == 4 else 3
    size = 3 * count + 1
    for o in range(0, tension.size - 1, size):
        wrinkle(count, tension[o : o + size - 1], tension[o + size - 1], tension[tension.size - 1], e, change)
        if every(change[5] == 0.0):
            continue
        cosine, sine = change[7], change[8]
        for i in range(6 * n):
            for r in range(3):
                total = 0.0 * cosine
                for k in range(count):
                    total += tension[o + count * r + k] * B[k, i]
                rows[3 + r, i] = total
            a, b, c = rows[3, i], rows[4, i], rows[5, i]
            mean, part = 0.5 * (a + b), 0.5 * (a - b) * cosine + 0.5 * c * sine
            rows[0, i], rows[1, i], rows[2, i] = mean + part, mean - part, c * cosine - (a - b) * sine
            rows[3, i] = change[3] * rows[0, i] + change[4] * rows[1, i]
            rows[4, i] = change[4] * rows[0, i] + change[5] * rows[1, i]
            rows[5, i] = change[6] * rows[2, i]
        for i in range(6 * n):
            for j in range(6 * n):
                K[i, j] += rows[0, i] * rows[3, j] + rows[1, i] * rows[4, j] + rows[2, i] * rows[5, j]
