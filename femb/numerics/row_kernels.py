"""Sums of rows of elements into the vectors of a system."""

from femb.numerics.compile import kernel


@kernel
def add_rows(starts, sizes, rows, out):
    """out (s, n_v) += rows (n, s, w) of n elements at s states, in the order of the elements.

    starts (n, groups) : index in out of the first number of each group of a row, negative if it is left out. sizes
    (groups,) : of the groups.
    """
    for s in range(out.shape[0]):
        for k in range(rows.shape[0]):
            i = 0
            for g in range(sizes.size):
                o = starts[k, g]
                if o >= 0:
                    for m in range(sizes[g]):
                        out[s, o + m] += rows[k, s, i + m]
                i += sizes[g]
