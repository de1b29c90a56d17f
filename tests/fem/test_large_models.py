"""What large models need: order of elimination, factors by fronts, modes by block Lanczos."""

import numpy as np
import pytest
from fem.solids import bar
from scipy.linalg import eigh
from scipy.sparse import coo_array, csc_array, diags_array, eye_array, kron

from femb.fem.model import as_csc
from femb.numerics.fronts import SMALL, Multifrontal, dissection
from femb.numerics.lanczos import largest_eigenvalues

SIDES = 41, 21


def plate(sides=SIDES):
    """A membrane of nodes on a grid, each connected to its neighbours, on springs; and the places of its nodes."""
    lines = [csc_array(np.diag(np.full(n, 2.0)) - np.eye(n, k=1) - np.eye(n, k=-1)) for n in sides]
    across = kron(lines[0], eye_array(sides[1])) + kron(eye_array(sides[0]), lines[1])
    x, y = np.meshgrid(*map(np.arange, sides), indexing="ij")
    return csc_array(across + 1e-3 * eye_array(sides[0] * sides[1])), np.column_stack(
        [x.ravel(), y.ravel(), 0 * x.ravel()]
    )


def test_halves_are_separated_by_the_fewest_nodes():
    """A membrane of 41 x 21 nodes: its last block is one row of 21, and no later block touches both halves."""
    matrix, places = plate()
    blocks = dissection(matrix, places)
    order = np.concatenate(blocks)
    np.testing.assert_array_equal(np.sort(order), np.arange(matrix.shape[0]))
    assert len(blocks[-1]) == SIDES[1]
    assert max(map(len, blocks)) <= SMALL
    entries = coo_array(matrix)
    side = np.sign(places[:, 0] - places[blocks[-1][0], 0])
    crossing = side[entries.row] * side[entries.col] < 0.0
    assert not crossing.any()


@pytest.mark.parametrize("components", [1, 3])
def test_factors_solve(components):
    matrix, places = plate()
    blocks = kron(matrix, np.diag([1.0, 2.0, 3.0][:components]) + 0.1)
    whole, places = csc_array(blocks), np.repeat(places, components, axis=0)
    factors = Multifrontal.of(whole, dissection(whole, places))
    x = np.random.default_rng(0).standard_normal((whole.shape[0], 5))
    np.testing.assert_allclose(factors.solve(whole @ x), x, rtol=0.0, atol=1e-10)
    assert factors.entries < 0.2 * whole.shape[0] ** 2
    with pytest.raises(np.linalg.LinAlgError, match="has no positive pivot"):
        Multifrontal.of(csc_array(whole - 9.0 * eye_array(whole.shape[0])), dissection(whole, places))


def test_unknowns_that_nothing_connects_have_factors_of_their_own():
    """A membrane that moves along x and y alike, at the same places: the factors of one, twice."""
    matrix, places = plate()
    both, twice = as_csc(kron(matrix, diags_array([1.0, 2.0]))), np.repeat(places, 2, axis=0)
    one, two = (Multifrontal.of(K, dissection(K, at)) for K, at in ((matrix, places), (both, twice)))
    assert two.entries == 2 * one.entries
    x = np.random.default_rng(0).standard_normal((both.shape[0], 2))
    np.testing.assert_allclose(two.solve(both @ x), x, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("count", [1, 12, 40])
def test_modes_are_those_of_a_dense_solver(count):
    """A clamped bar: eigenvalues to the rounding of its stiffness, whose condition is some 1e7."""
    model = bar((4, 1, 1), "hexahedron20")
    own = np.flatnonzero(model.nodes[model.node_of, 0] > 0.0)
    K, M = (csc_array(each[own][:, own]) for each in (model.stiffness, model.mass))
    dense = K.toarray()
    values, shapes = largest_eigenvalues(lambda force: np.linalg.solve(dense, force), M, count)
    wanted = eigh(M.toarray(), dense, eigvals_only=True)[::-1][:count]
    np.testing.assert_allclose(values, wanted, rtol=1e-9)
    np.testing.assert_allclose(shapes.T @ (M @ shapes), np.eye(count), rtol=0.0, atol=1e-12)
    residual = np.linalg.solve(dense, M @ shapes) - shapes * values
    assert np.sqrt(np.einsum("nk,nk->k", residual, M @ residual)).max() < 1e-9 * values[0]


def test_equal_eigenvalues_are_all_found():
    """Three equal membranes without connection: every eigenvalue three times."""
    matrix, _ = plate((9, 8))
    whole = csc_array(kron(eye_array(3), matrix))
    dense = whole.toarray()
    values, _ = largest_eigenvalues(lambda force: np.linalg.solve(dense, force), csc_array(eye_array(len(dense))), 15)
    wanted = 1.0 / np.linalg.eigvalsh(matrix.toarray())[:5]
    np.testing.assert_allclose(values, np.repeat(wanted, 3), rtol=1e-10)
