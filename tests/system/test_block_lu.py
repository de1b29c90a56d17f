"""Block elimination against dense solution, on random couplings, constraints and matrices."""

import time
from itertools import pairwise

import numpy as np
import pytest

from femb.elements.beam.beam import STRAIN
from femb.layout.layout import Layout
from femb.numerics.block_kernels import factor
from femb.numerics.compiler.lanes import LANES
from femb.numerics.row_calls import FEW
from femb.system.block_lu import LinearSolver, SingularError
from femb.system.pattern import Pattern
from femb.system.stacked import FEWEST, StackedFactors, products

ONE = np.array([1.0, 0.0, 0.0, 0.0])


def random_layout(rng, count, roots=1, extra=0):
    """Blocks of 1 to 10 velocities - bodies, points and strains of their own - coupled in ``roots`` trees, then
    ``extra`` couplings that close loops."""
    layout = Layout()
    blocks = []
    for k in range(count):
        kind = rng.integers(4)
        if kind == 3:
            blocks.append(((), (layout.add_internal(f"strain {k}", STRAIN, None, "beams"),)))
            continue
        frame = layout.add_frame(f"frame {k}", np.zeros(3), ONE, freedom=3 if kind == 0 else 6)
        blocks.append(((frame,), [layout.add_internal("", STRAIN, frame, "beams") for _ in range(2 * kind)]))
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
        matrix = np.zeros((pattern.n, pattern.n))
        matrix[rows, columns] = data
        data = (matrix + matrix.T)[rows, columns]
    elif kind == "complex":
        data = data + 1j * rng.standard_normal(pattern.size)
    matrix = np.zeros((pattern.n, pattern.n), dtype=data.dtype)
    matrix[rows, columns] = data
    return data, matrix


def check(rng, layout, kind):
    pattern = Pattern(layout)
    solver = LinearSolver(pattern)
    data, matrix = random_matrix(rng, pattern, kind)
    np.testing.assert_array_equal(pattern.to_csc(data).toarray(), matrix)
    x = rng.standard_normal(pattern.n)
    np.testing.assert_allclose(solver.multiply(data.real.copy(), x), matrix.real @ x, atol=1e-12)
    factorisation = solver.factorise(data)
    for _ in range(2):
        x = rng.standard_normal(pattern.n).astype(data.dtype)
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
    sizes = np.diff(layout.block_start)
    edges = [(sizes[a], sizes[b]) for a, b in layout.edges]
    assert Pattern(layout).size == sum(n**2 for n in sizes) + 2 * sum(a * b for a, b in edges)  # no fill
    check(rng, layout, kind)


@kinds
@pytest.mark.parametrize("seed", range(4))
def test_loop(kind, seed):
    rng = np.random.default_rng(seed)
    layout = random_layout(rng, count=20, extra=4)
    assert not layout.is_tree
    check(rng, layout, kind)


def constrained(rng, count, extra, grounded=True):
    """Bodies and beams between them (couplings) with 1 to 5 rows between them in a tree, and ``extra`` that close
    loops."""
    layout = Layout()
    frames = [layout.add_frame(f"frame {k}", np.zeros(3), ONE) for k in range(count)]
    ground = layout.add_frame("ground", np.zeros(3), ONE, freedom=0)
    pairs = [(frames[k], frames[rng.integers(k)]) for k in range(1, count)]
    pairs += [(ground, frames[0])] if grounded else []
    for k in range(3, count, 4):
        layout.couple((frames[k], frames[rng.integers(k)]))
    closing = [tuple(rng.choice(count, 2, replace=False)) for _ in range(extra)]
    for a, b in pairs:
        for _ in range(rng.integers(1, 6)):
            layout.add_row("", a, b)
    for a, b in closing:
        layout.add_row("", a, b)
    layout.finish()
    return layout


def kkt(rng, layout):
    pattern = Pattern(layout)
    n, m = layout.n_v, layout.n_c
    A = np.zeros((n, n))
    start, sizes = layout.block_start, np.diff(layout.block_start)
    for b in range(len(sizes)):
        if start[b] < n:
            own = slice(start[b], start[b + 1])
            half = rng.standard_normal((sizes[b], sizes[b]))
            A[own, own] += half @ half.T + np.eye(sizes[b])
    for a, b in layout.edges:
        if max(start[a], start[b]) < n:
            i, j = slice(start[a], start[a + 1]), slice(start[b], start[b + 1])
            half = rng.standard_normal((2, sizes[a], sizes[a]))
            A[i, i] += half[0] @ half[0].T
            A[i, j] -= half[0] @ half[1].T
            A[j, i] -= half[1] @ half[0].T
            A[j, j] += half[1] @ half[1].T
    J = np.zeros((m, n))
    for row, pair in enumerate(layout.rows):
        for frame in pair:
            v = layout.frame_v[frame]
            if v >= 0:
                J[layout.row_c[row], v : v + 6] = rng.standard_normal(6)
    return pattern, A, J


def to_data(pattern, matrix):
    rows, columns = pattern.rows_columns()
    data = matrix[rows, columns]
    rest = matrix.copy()
    rest[rows, columns] = 0.0
    assert not rest.any()
    return data


@pytest.mark.parametrize("extra", [0, 3])
@pytest.mark.parametrize("grounded", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_multipliers(seed, grounded, extra):
    rng = np.random.default_rng(seed)
    layout = constrained(rng, int(rng.integers(5, 20)), extra, grounded=grounded)
    assert layout.is_tree or extra or layout.couplings
    pattern, A, J = kkt(rng, layout)
    matrix = np.block([[A, J.T], [J, np.zeros((len(J), len(J)))]])
    if np.linalg.matrix_rank(J) < len(J):
        pytest.skip("more constraints than velocities")
    solver = LinearSolver(pattern)
    for scale in (1.0, 1.0 + 0.7j):
        full = matrix.astype(type(scale))
        full[: len(A), : len(A)] *= scale
        factors = solver.factorise(to_data(pattern, full))
        assert factors.dependent == 0
        x = rng.standard_normal(pattern.n).astype(type(scale))
        got = factors.solve(x.copy())
        np.testing.assert_allclose(full @ got, x, atol=1e-9 * np.abs(got).max() * np.abs(full).max())
        # columns together are solved as each alone
        columns = factors.solve_columns(np.stack([x, 2.0 * x, x[::-1]], axis=1))
        for column, right in zip(columns.T, (x, 2.0 * x, x[::-1]), strict=True):
            np.testing.assert_allclose(column, factors.solve(right.copy()), rtol=0, atol=1e-11 * np.abs(column).max())


@pytest.mark.parametrize("extra", [0, 3])
@pytest.mark.parametrize("seed", range(3))
def test_matrices_together_are_those_alone(seed, extra):
    """To the last bit: matrices in the lanes of a register have their own exchanges, and dependent rows; the last ones,
    and a group with different ranks, are factorised one by one."""
    rng = np.random.default_rng(seed)
    layout, count = constrained(rng, int(rng.integers(5, 12)), extra), 14
    pattern, _, _ = kkt(rng, layout)
    data = np.empty((count, pattern.size))
    for k in range(count):
        _, A, J = kkt(rng, layout)
        if k in (9, 13):
            J[-1] = 0.0
        data[k] = to_data(pattern, np.block([[A, J.T], [J, np.zeros((len(J), len(J)))]]))
    given, solver, x = data.copy(), LinearSolver(pattern), rng.standard_normal((count, pattern.n))
    factors = StackedFactors(solver, data)
    assert LANES != 4 or factors._together.tolist() == [True, True, False]
    alone = [solver.factorise(each.copy()) for each in data]
    assert np.ptp([each.pivots for each in alone], axis=0).max() > 0
    wanted = np.array([each.solve(right.copy()) for each, right in zip(alone, x, strict=True)])
    np.testing.assert_array_equal(factors.solve(x.copy()), wanted)
    np.testing.assert_array_equal([factors.of(k).solve(right.copy()) for k, right in enumerate(x)], wanted)
    np.testing.assert_array_equal(
        products(solver, data, x), [solver.multiply(*each) for each in zip(data, x, strict=True)]
    )
    np.testing.assert_array_equal(data, given)


def test_many_small_matrices_are_those_alone():
    """To the last bit: one loop calls the kernels of one matrix for rows of arrays; a singular one has its number."""
    rng, layout = np.random.default_rng(1), random_layout(np.random.default_rng(0), 1)
    pattern, count = Pattern(layout), 20
    data, solver = rng.standard_normal((count, pattern.size)), LinearSolver(pattern)
    x = rng.standard_normal((count, pattern.n))
    assert pattern.size < FEWEST
    assert count > FEW
    alone = [solver.factorise(each.copy()).solve(right.copy()) for each, right in zip(data, x, strict=True)]
    np.testing.assert_array_equal(StackedFactors(solver, data).solve(x.copy()), alone)
    np.testing.assert_array_equal(
        products(solver, data, x), [solver.multiply(*each) for each in zip(data, x, strict=True)]
    )
    data[13] = 0.0
    with pytest.raises(SingularError) as caught:
        StackedFactors(solver, data)
    assert caught.value.state == 13
    assert caught.value.last > caught.value.first


@pytest.mark.parametrize("number", [float, complex])
def test_rows_in_registers_round_as_single_numbers(number):
    """Two blocks of every size up to three registers' pairs, eliminated by Python's numbers: alike to the last bit."""
    rng = np.random.default_rng(4)
    for n, m in [(size, size) for size in range(1, 6 * LANES)] + [(3, 7), (7, 3), (5, 18)]:
        parts = {"A": (n, n), "B": (n, m), "C": (m, n), "D": (m, m)}
        blocks = {name: rng.normal(size=shape).astype(number) for name, shape in parts.items()}
        if number is complex:
            blocks = {name: block + 1j * rng.normal(size=block.shape) for name, block in blocks.items()}
        blocks["A"] += 30.0 * np.eye(n)  # no rows are exchanged
        blocks["D"] += 90.0 * np.eye(m)
        data = np.concatenate([block.ravel() for block in blocks.values()])
        at = np.cumsum([0, n * n, n * m, m * n])
        order = np.array([0, 1]), np.array([0, 1, 1]), np.array([1])
        structure = (np.array([0, n, n + m]), n + m, at[[0, 3]], *order, at[1:2], at[2:3])
        pivots, rank = np.empty(n + m, dtype=np.int64), np.empty(2, dtype=np.int64)
        none = np.zeros(0)
        assert factor(structure, at[3:], data, pivots, rank, none, 1e-10) == -1
        A, B, C, D = (block.tolist() for block in blocks.values())
        eliminate_by_python(A)
        for k, row in enumerate(B):
            for i in range(k + 1, n):
                B[i] = [b - A[i][k] * x for b, x in zip(B[i], row, strict=True)]
        for k in range(n - 1, -1, -1):
            B[k] = [1.0 / A[k][k] * b for b in B[k]]
            for i in range(k):
                B[i] = [b - A[i][k] * x for b, x in zip(B[i], B[k], strict=True)]
        for i, k in np.ndindex(m, n):
            D[i] = [d - C[i][k] * x for d, x in zip(D[i], B[k], strict=True)]
        eliminate_by_python(D)
        wanted = np.concatenate([np.ravel(block) for block in (A, B, C, D)])
        np.testing.assert_array_equal(data, wanted, err_msg=f"blocks of {n} and {m}")


def eliminate_by_python(A):
    """LU of a list of rows in place, without exchanges."""
    for k, row in enumerate(A):
        inverse = 1.0 / row[k]
        for i in range(k + 1, len(A)):
            f = A[i][k] * inverse
            A[i][k:] = [f, *(a - f * x for a, x in zip(A[i][k + 1 :], row[k + 1 :], strict=True))]


def ring(rng, links):
    """A closed ring of bodies on parallel revolute axes: 5 rows a joint, and the plane ones twice."""
    layout = Layout()
    ground = layout.add_frame("ground", np.zeros(3), ONE, freedom=0)
    frames = [ground, *(layout.add_frame(f"link {k}", np.zeros(3), ONE) for k in range(links)), ground]
    for a, b in pairwise(frames):
        for _ in range(5):
            layout.add_row("", a, b)
    layout.finish()
    points = rng.standard_normal((links + 1, 2))
    J = np.zeros((layout.n_c, layout.n_v))
    for k, (a, b) in enumerate(pairwise(frames)):
        for frame, sign in ((a, -1.0), (b, 1.0)):
            v = layout.frame_v[frame]
            if v < 0:
                continue
            x, y = points[k]
            rows = [layout.row_c[5 * k + i] for i in range(5)]
            # velocity of the pin, of a frame at the origin: v + omega x (x, y, 0); and no tilt
            J[rows[:3], v : v + 3] = sign * np.eye(3)
            J[rows[:3], v + 3 : v + 6] = -sign * np.array([[0, 0, y], [0, 0, -x], [-y, x, 0]])
            J[rows[3], v + 3], J[rows[4], v + 4] = sign, sign
    return layout, J


@pytest.mark.parametrize("links", [3, 4, 7])
def test_dependent_rows_are_left_out(links):
    """The velocities are those of the least-squares solution, and three rows of the plane ring say nothing new."""
    rng = np.random.default_rng(links)
    layout, J = ring(rng, links)
    pattern = Pattern(layout)
    A = np.diag(rng.uniform(0.5, 2.0, layout.n_v))
    matrix = np.block([[A, J.T], [J, np.zeros((len(J), len(J)))]])
    assert np.linalg.matrix_rank(J) == len(J) - 3
    factors = LinearSolver(pattern).factorise(to_data(pattern, matrix))
    assert factors.dependent == 3
    x = rng.standard_normal(pattern.n)
    x[layout.n_v :] = J @ rng.standard_normal(layout.n_v)
    got = factors.solve(x.copy())
    np.testing.assert_allclose(matrix @ got, x, atol=1e-9)
    wanted = np.linalg.lstsq(matrix, x, rcond=1e-12)[0]
    np.testing.assert_allclose(got[: layout.n_v], wanted[: layout.n_v], atol=1e-9)


def test_strains_of_a_net_are_blocks_of_their_own():
    """In a ring of frames, but not in a chain: there they widen no other block."""
    for closed in (False, True):
        layout = Layout()
        frames = [layout.add_frame(f"frame {k}", np.zeros(3), ONE) for k in range(4)]
        strains = [[layout.add_internal("", STRAIN, frame, "beams") for _ in range(3)] for frame in frames]
        for a, b in [*pairwise(range(4)), *([(3, 0)] if closed else [])]:
            layout.couple((frames[a], frames[b]), (*strains[a], *strains[b]))
        layout.finish()
        assert sorted(np.diff(layout.block_start)) == ([1] * 12 + [6] * 4 if closed else [9] * 4)
        assert layout.is_tree is not closed


def test_a_long_chain_of_joints_has_bounded_fill():
    """Storage of a chain of bodies on revolute joints, and of one closed at both ends, grows with its length alone."""
    rng = np.random.default_rng(0)
    sizes = [Pattern(ring(rng, links)[0]).size for links in (20, 40, 80)]
    assert sizes[2] - sizes[1] < 2.05 * (sizes[1] - sizes[0])


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
        LinearSolver(pattern).factorise(data)
    assert (caught.value.first, caught.value.last) == (12, 18)


def test_what_fades_along_a_chain_ends_in_zeros():
    """Subnormal numbers, of no meaning, would make all that is computed from a solution several times as slow."""
    layout = Layout()
    frames = [layout.add_frame(f"point {k}", np.zeros(3), ONE, freedom=3) for k in range(400)]
    for pair in pairwise(frames):
        layout.couple(pair, ())
    layout.finish()
    pattern = Pattern(layout)
    rows, columns = pattern.rows_columns()
    data = np.where(rows == columns, 4.0, 0.1)
    matrix = np.zeros((pattern.n, pattern.n))
    matrix[rows, columns] = data
    right = np.zeros(pattern.n)
    right[layout.frame_v[-1]] = 1.0
    x = LinearSolver(pattern).factorise(data).solve(right.copy())
    wanted = np.linalg.solve(matrix, right)
    seen = np.abs(wanted) > 1e-90
    assert np.any(np.abs(wanted[wanted != 0.0]) < np.finfo(float).tiny)
    assert np.allclose(x[seen], wanted[seen], rtol=1e-12, atol=0.0)
    assert np.all(x[np.abs(wanted) < 1e-101] == 0.0)


def test_a_load_at_an_end_takes_no_longer_than_loads_at_all_nodes():
    """What fades along a chain becomes zero on its way: subnormal numbers took six times as long."""
    layout = Layout()
    frames = [layout.add_frame(f"point {k}", np.zeros(3), ONE, freedom=3) for k in range(3000)]
    for pair in pairwise(frames):
        layout.couple(pair, ())
    layout.finish()
    pattern = Pattern(layout)
    rows, columns = pattern.rows_columns()
    factors = LinearSolver(pattern).factorise(np.where(rows == columns, 2.2, 0.5))
    at_all = np.ones(pattern.n)
    at_an_end = np.where(np.arange(pattern.n) >= pattern.n - 3, at_all, 0.0)

    def least_time(right: np.ndarray) -> float:
        taken = []
        for _ in range(30):
            x = right.copy()
            start = time.perf_counter()
            factors.solve(x)
            taken.append(time.perf_counter() - start)
        return min(taken)

    factors.solve(at_all.copy())
    assert least_time(at_an_end) < 2.0 * least_time(at_all)


@pytest.mark.parametrize("seed", range(6))
def test_negative_eigenvalues(seed):
    """As many as numpy finds: the inertia is that of the diagonal blocks."""
    rng = np.random.default_rng(seed)
    pattern = Pattern(random_layout(rng, count=int(rng.integers(1, 30)), extra=seed))
    data, matrix = random_matrix(rng, pattern, "symmetric")
    wanted = int(np.sum(np.linalg.eigvalsh(matrix) < 0.0))
    assert LinearSolver(pattern).factorise(data).negative_eigenvalues() == wanted


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("extra", [0, 2])
def test_negative_eigenvalues_under_constraints(seed, extra):
    """Those of A on the motions that J allows."""
    rng = np.random.default_rng(seed)
    layout = constrained(rng, int(rng.integers(2, 9)), extra)
    pattern, A, J = kkt(rng, layout)
    A -= 0.5 * np.median(np.linalg.eigvalsh(A)) * np.eye(len(A))
    data = to_data(pattern, np.block([[A, J.T], [J, np.zeros((len(J), len(J)))]]))
    null = np.linalg.svd(J)[2][np.linalg.matrix_rank(J) :].T
    wanted = int(np.sum(np.linalg.eigvalsh(null.T @ A @ null) < 0.0))
    assert LinearSolver(pattern).factorise(data).negative_eigenvalues() == wanted
