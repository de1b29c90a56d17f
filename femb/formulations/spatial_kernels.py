"""Spatial vectors (6,) in kernels over trees: motions (omega, v), and forces and momenta (moment, force)."""

from femb.numerics.compile import inlined


@inlined
def transform(M, x, out):
    """out = M x, with M (6, 6)."""
    for i in range(6):
        total = 0.0
        for j in range(6):
            total += M[i, j] * x[j]
        out[i] = total


@inlined
def add_cross(a, b, factor, out):
    """out += factor a x b of motions, the rate of a motion b that moves with a; out must differ from a and b."""
    for m in range(3):
        f, g = (m + 1) % 3, (m + 2) % 3
        out[m] += factor * (a[f] * b[g] - a[g] * b[f])
        out[3 + m] += factor * (a[f] * b[3 + g] - a[g] * b[3 + f] + a[3 + f] * b[g] - a[3 + g] * b[f])


@inlined
def add_force(point, force, out):
    """out += the force (3,) at a point (3,)."""
    for m in range(3):
        f, g = (m + 1) % 3, (m + 2) % 3
        out[m] += point[f] * force[g] - point[g] * force[f]
        out[3 + m] += force[m]


@inlined
def shift_motion(x, rho, out):
    """out = the motion x at the point rho (3,)."""
    for m in range(3):
        f, g = (m + 1) % 3, (m + 2) % 3
        out[m], out[3 + m] = x[m], x[3 + m] + x[f] * rho[g] - x[g] * rho[f]
