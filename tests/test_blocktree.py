"""Block elimination and the sparse factorisation against dense solution, on random couplings and matrices."""

import numpy as np
import pytest

from femb.blocktree import LinearSolver, SingularError, SparseFactorisation, TreeFactorisation
from femb.layout import Layout
from femb.pattern import Pattern

ONE = np.array([1.0, 0.0, 0.0, 0.0])


def random_layout(rng, count, roots=1, extra=0):
    """Blocks of 1 to 8 velocities - bodies, points and strains of their own - coupled in ``roots`` trees, then
    ``extra`` couplings that close loops."""
    layout = Layout()
    blocks = []
    for k in range(count):
        kind = rng.integers(4)
        if kind == 3:
            blocks.append(((), (layout.add_strain(f"strain {k}", None),)))
            continue
        frame = layout.add_frame(f"frame {k}", np.zeros(3), ONE, freedom=3 if kind == 0 else 6)
        blocks.append(((frame,), [layout.add_strain("", frame) for _ in range(kind if kind < 3 else 0)]))
    order = rng.permutation(count)

    def couple(a, b):
        layout.couple((*blocks[a][0], *blocks[b][0]), (*blocks[a][1], *blocks[b][1]))

    for k in range(roots, count):
        couple(order[k], order[rng.integers(k)])
    for _ in range(extra):
        couple(*rng.choice(count, 2, replace=False))
    layout.finish()
    return layout


def random_matrix(rng, pattern, kind):
    """Block data without symmetry or sign, or symmetric and indefinite, real or complex; and the dense matrix."""
    data = rng.standard_normal(pattern.size)
    rows, columns = pattern.rows_columns()
    if kind == "symmetric":
        matrix = np.zeros((pattern.n_v, pattern.n_v))
        matrix[rows, columns] = data
        data = (matrix + matrix.T)[rows, columns]
    elif kind == "complex":
        data = data + 1j * rng.standard_normal(pattern.size)
    matrix = np.zeros((pattern.n_v, pattern.n_v), dtype=data.dtype)
    matrix[rows, columns] = data
    return data, matrix


def check(rng, layout, kind, factors):
    pattern = Pattern(layout)
    solver = LinearSolver(pattern, layout.parent, layout.is_tree)
    data, matrix = random_matrix(rng, pattern, kind)
    np.testing.assert_array_equal(pattern.to_csc(data).toarray(), matrix)
    factorisation = solver.factorise(data)
    assert isinstance(factorisation, factors)
    for _ in range(2):
        x = rng.standard_normal(pattern.n_v).astype(data.dtype)
        got = factorisation.solve(x.copy())
        # backward error, and the solution itself as far as the matrix lets it be known
        limit = 1e-10 * np.abs(matrix).max() * np.abs(got).max()
        assert np.abs(matrix @ got - x).max() < limit
        np.testing.assert_allclose(got, np.linalg.solve(matrix, x), rtol=0.0, atol=1e-8 * np.abs(got).max())


kinds = pytest.mark.parametrize("kind", ["general", "symmetric", "complex"])


@kinds
@pytest.mark.parametrize("seed", range(8))
def test_tree(kind, seed):
    rng = np.random.default_rng(seed)
    layout = random_layout(rng, count=int(rng.integers(1, 30)), roots=int(rng.integers(1, 4)))
    assert layout.is_tree
    assert np.all(layout.parent < np.arange(len(layout.parent)))
    check(rng, layout, kind, TreeFactorisation)


@kinds
@pytest.mark.parametrize("seed", range(4))
def test_loop(kind, seed):
    rng = np.random.default_rng(seed)
    layout = random_layout(rng, count=20, extra=4)
    assert not layout.is_tree
    check(rng, layout, kind, SparseFactorisation)


def test_singular_block_is_named():
    layout = Layout()
    for name in ("a", "b", "c"):
        layout.add_frame(name, np.zeros(3), ONE)
    layout.couple((0, 1))
    layout.couple((1, 2))
    layout.finish()
    pattern = Pattern(layout)
    rng = np.random.default_rng(0)
    data, _ = random_matrix(rng, pattern, "general")
    last = pattern.block_start[2]
    rows, _ = pattern.rows_columns()
    data[rows == last + 1] = 0.0
    with pytest.raises(SingularError) as caught:
        LinearSolver(pattern, layout.parent, True).factorise(data)
    assert (caught.value.first, caught.value.last) == (12, 18)
