"""Factors by dense fronts against dense matrices: solutions, ranks of rows and numbers of negative eigenvalues."""

import numpy as np
import pytest
from models import refuses
from scipy.sparse import csr_array

from femb.numerics.fronts import FrontalLU, Fronts, Multifrontal, ZeroPivotError, dissected

SIDE, EACH = 7, 2  # points along an edge of a grid, and velocities at each


def grid(rows=0):
    """Rows, columns and sets of the entries of a grid of points, of which so many pairs have a row of multipliers."""
    where = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), [0.0], indexing="ij"), -1).reshape(-1, 3)
    near = np.abs(where[:, None] - where).max(axis=2) <= 1.0
    sets = dissected(csr_array(near), where, 6)
    n_v = EACH * len(where)
    blocks = [(EACH * each[:, None] + np.arange(EACH)).ravel() for each in sets]
    joined = np.zeros((n_v + rows, n_v + rows), dtype=bool)
    joined[:n_v, :n_v] = np.kron(near, np.ones((EACH, EACH), dtype=bool))
    found = []
    for k, block in enumerate(blocks):
        found.append(block)
        # as ``femb.system.pattern`` does: after the set of the later of its two points
        own = [r for r in range(rows) if max(_set_of(sets, 3 * r), _set_of(sets, 3 * r + 1)) == k]
        if own:
            found.append(n_v + np.array(own))
    for r in range(rows):
        own = EACH * np.array([3 * r, 3 * r + 1])
        joined[n_v + r, own] = joined[own, n_v + r] = joined[n_v + r, n_v + r] = True
    i, j = np.nonzero(joined)
    return Fronts(i, j, found, n_v), i, j, n_v


def _set_of(sets, point):
    return next(k for k, each in enumerate(sets) if point in each)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [float, complex])
def test_unsymmetric_matrices_with_multipliers(kind):
    """Real and complex data, not definite, and right-hand sides in columns: as dense solutions."""
    fronts, i, j, n_v = grid(rows=5)
    rng, n = np.random.default_rng(1), len(fronts.order)
    A = np.zeros((n, n), dtype=kind)
    A[i, j] = rng.standard_normal(len(i)) + (1j * rng.standard_normal(len(i)) if kind is complex else 0.0)
    A[n_v:, n_v:] = 0.0
    right = rng.standard_normal((n, 3))
    found = FrontalLU(fronts, A[i, j], 1e-10, np.zeros(n - n_v, dtype=bool))
    exact = np.linalg.solve(A, right)
    np.testing.assert_allclose(found.solve(right.astype(kind)), exact, atol=1e-10 * np.abs(exact).max())
    assert found.rank == n
    assert np.all(found.ratios > 0.0)
    both = found.solve(right + 2j * right)
    np.testing.assert_allclose(both, (1.0 + 2.0j) * exact, atol=1e-9 * np.abs(exact).max())


def test_cholesky_reads_one_triangle():
    """In the order of elimination; a matrix that is not definite is refused by the name of a row."""
    fronts, i, j, n = grid()
    rng, place = np.random.default_rng(4), np.argsort(fronts.order)
    A = np.zeros((n, n))
    A[i, j] = rng.standard_normal(len(i))
    A = A + A.T + 40.0 * np.eye(n)
    lower = place[:, None] >= place
    right = rng.standard_normal((n, 3))
    found = Multifrontal(fronts, np.where(lower, A, 7.0)[i, j]).solve(right)
    np.testing.assert_allclose(found, np.linalg.solve(A, right), rtol=0.0, atol=1e-14)
    A[5, 5] = -40.0
    refuses("has no positive pivot", Multifrontal, fronts, A[i, j], error=np.linalg.LinAlgError)


def test_inertia_counts_what_constraints_allow():
    """The number of negative eigenvalues of an indefinite matrix, in the null space of the rows, by dense ones."""
    fronts, i, j, n_v = grid(rows=4)
    n = len(fronts.order)
    rng = np.random.default_rng(2)
    A = np.zeros((n, n))
    A[i, j] = rng.standard_normal(len(i))
    A = A + A.T
    A[n_v:, n_v:] = 0.0
    A[np.arange(n_v), np.arange(n_v)] += 2.0
    found = FrontalLU(fronts, A[i, j], 1e-10, np.zeros(n - n_v, dtype=bool))
    null = np.linalg.svd(A[n_v:, :n_v])[2][n - n_v :].T
    assert found.negative_eigenvalues() == np.sum(np.linalg.eigvalsh(null.T @ A[:n_v, :n_v] @ null) < 0.0) > 5


def test_dependent_and_excluded_rows_have_no_multiplier():
    """A row that is zero, and one that is left out: the others are met, and these multipliers are zero."""
    fronts, i, j, n_v = grid(rows=4)
    n = len(fronts.order)
    rng = np.random.default_rng(3)
    A = np.zeros((n, n))
    A[i, j] = rng.standard_normal(len(i))
    A = A + A.T + 40.0 * np.eye(n)
    A[n_v:, n_v:] = A[n_v + 1, :] = A[:, n_v + 1] = 0.0
    excluded = np.arange(n - n_v) == 2
    found = FrontalLU(fronts, A[i, j], 1e-10, excluded)
    right = rng.standard_normal(n)
    right[[n_v + 1, n_v + 2]] = 0.0
    x = found.solve(right[:, None])[:, 0]
    kept = np.setdiff1d(np.arange(n), [n_v + 1, n_v + 2])
    np.testing.assert_allclose(A[np.ix_(kept, kept)] @ x[kept], right[kept], atol=1e-11)
    assert found.rank == n - 2
    assert not x[[n_v + 1, n_v + 2]].any()
    np.testing.assert_array_equal(found.ratios > 0.0, [True, False, False, True])


def test_a_singular_front_is_named():
    """An unknown without any entry."""
    fronts, i, j, _ = grid()
    A = np.zeros((len(fronts.order),) * 2)
    A[i, j] = 1.0
    A[np.diag_indices_from(A)] = 50.0
    A[17], A[:, 17] = 0.0, 0.0
    with pytest.raises(ZeroPivotError) as error:
        FrontalLU(fronts, A[i, j], 1e-10, np.zeros(0, dtype=bool))
    assert error.value.unknown == 17
