"""Vector algebra for kernels: three-vectors and 3 x 3 matrices in preallocated arrays."""

from femb.numerics.compile import inner, kernel


@inner
def rotation(p, R):
    """R (3, 3), body to inertial, of the quaternion p (4,); p is scaled to unit length first.

    A step advances quaternions additively, so stage values are off the unit sphere by the order of the step.
    """
    s = 2.0 / (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    a, b, c = s * p[1], s * p[2], s * p[3]
    R[0, 0] = 1.0 - b * p[2] - c * p[3]
    R[1, 1] = 1.0 - a * p[1] - c * p[3]
    R[2, 2] = 1.0 - a * p[1] - b * p[2]
    R[0, 1] = a * p[2] - c * p[0]
    R[1, 0] = a * p[2] + c * p[0]
    R[0, 2] = a * p[3] + b * p[0]
    R[2, 0] = a * p[3] - b * p[0]
    R[1, 2] = b * p[3] - a * p[0]
    R[2, 1] = b * p[3] + a * p[0]


@inner
def pose(i, q, fixed, r, R):
    """Position r (3,) and axes R (3, 3) of the frame at q[i:i+7]; a negative i is row -1-i of ``fixed``."""
    if i >= 0:
        for k in range(3):
            r[k] = q[i + k]
        rotation(q[i + 3 : i + 7], R)
    else:
        for k in range(3):
            r[k] = fixed[-1 - i, k]
        rotation(fixed[-1 - i, 3:7], R)


@inner
def cross(a, b, out):
    """out = a x b; out may be neither a nor b."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@inner
def dot(a, b):
    """a . b of three-vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inner
def turn(R, a, out):
    """out = R a."""
    for i in range(3):
        out[i] = R[i, 0] * a[0] + R[i, 1] * a[1] + R[i, 2] * a[2]


@inner
def turn_back(R, a, out):
    """out = R^T a."""
    for i in range(3):
        out[i] = R[0, i] * a[0] + R[1, i] * a[1] + R[2, i] * a[2]


@inner
def product(A, B, out):
    """out = A B."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@inner
def product_left_back(A, B, out):
    """out = A^T B."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[0, i] * B[0, j] + A[1, i] * B[1, j] + A[2, i] * B[2, j]


@kernel
def scatter(local, starts, sizes, offset, stride, data):
    """Add a dense matrix to block data.

    The rows and columns of ``local`` come in groups that are contiguous there (from ``starts``, ``sizes`` long) and
    in the blocks; the entry (0, 0) of group pair (i, j) goes to data[offset[i, j]], rows ``stride[i, j]`` apart; a
    negative offset drops the pair (a fixed frame).
    """
    for i in range(starts.size):
        for j in range(starts.size):
            base = offset[i, j]
            if base < 0:
                continue
            step = stride[i, j]
            for k in range(sizes[i]):
                for m in range(sizes[j]):
                    data[base + k * step + m] += local[starts[i] + k, starts[j] + m]
