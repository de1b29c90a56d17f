"""Residuals of measured functions and modes beside differences and closed forms, of models that need no run."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from femb import JointEnd, JointSpringDamper, Model, ModelError, Revolute, RigidBody, StateSpace
from femb.fem.measured_functions import HISTORY, TRANSFER, Response, functions_of_csv, in_si, of_dataset
from femb.study import identification
from femb.study.correlation import _beside, paired, shapes_at
from femb.study.measured import OF_SHAPE, FunctionResiduals, ModeResiduals, _unit, check_channels, named_as
from femb.vibration.solution import solution

NAMES = ("p", "q", "r"), ("u", "w"), ("x", "y")


def transfer(f, values=1.0, sigma=np.nan):
    f = np.asarray(f, dtype=float)
    return Response(TRANSFER, "y", "u", f, values * np.ones(len(f), dtype=complex), np.full(len(f), sigma))


def space(seed=0, dt=None):
    rng = np.random.default_rng(seed)
    A, B, C, D = (rng.standard_normal(shape) for shape in ((3, 3), (3, 2), (2, 3), (2, 2)))
    return StateSpace(0.3 * A if dt else A - 3.0 * np.eye(3), B, C, D, *NAMES, dt=dt)


def gains(of, f):
    return np.array([of.transfer(2j * np.pi * x)[1, 0] for x in f])


def fitted(functions, *spaces):
    """Residuals of functions of a model with one linear model, or with one of the open and one of the closed loop."""
    known = {}

    def once(key, made):
        if key not in known:
            known[key] = made()
        return known[key]

    model = SimpleNamespace(once=once, space=lambda start, inputs, outputs, closed: spaces[-1 if closed else 0])
    whole = SimpleNamespace(nominal=model)
    return [FunctionResiduals(functions, None, closed, set(), lambda p, _: whole) for closed in (False, True)], model


@pytest.mark.parametrize("dt", [None, 0.05])
def test_derivatives_by_matrices_are_differences(dt):
    of, f, h = space(1, dt), np.array([0.3, 1.1, 4.0]), 1e-6
    sizes = [each.size for each in (of.A, of.B, of.C, of.D)]
    changes = np.random.default_rng(2).standard_normal((sum(sizes), 2))
    found = fitted([], of)[0][0]._of_matrices(of, changes.astype(complex), transfer(f))
    for k, column in enumerate(changes.T):
        parts = np.split(h * column, np.cumsum(sizes)[:-1])
        ends = [
            StateSpace(*(x + sign * dx.reshape(x.shape) for x, dx in zip((of.A, of.B, of.C, of.D), parts, strict=True)),
                       *NAMES, dt=dt)
            for sign in (1.0, -1.0)
        ]  # fmt: skip
        wanted = (gains(ends[0], f) - gains(ends[1], f)) / (2.0 * h)
        np.testing.assert_allclose(found[:, k], wanted, rtol=1e-6)


def test_functions_at_other_frequencies_and_of_closed_loops_are_their_own():
    functions, spaces = [transfer([0.0, 0.3, 1.1]), transfer([0.7, 2.0])], [space(1), space(2)]
    both, model = fitted(functions, *spaces)
    for residuals, of in zip(both, spaces, strict=True):
        assert residuals.functions[0].abscissa.tolist() == [0.3, 1.1]  # a constant may have no response
        for each, values in zip(residuals.functions, residuals.of_model(model, residuals.functions), strict=True):
            np.testing.assert_allclose(values, gains(of, each.abscissa), rtol=1e-12)


@pytest.mark.parametrize("sigma", [0.1, np.nan])
def test_errors_of_data_change_residuals_as_they_change_functions(sigma):
    f, h = np.array([0.3, 1.1, 4.0]), 1e-5
    (residuals, _), _ = fitted([transfer(f, 0.5 + 0.2j, sigma)], space(1))
    own, of = gains(space(1), f), residuals.functions[0]
    factor, delay = residuals.nuisances(np.zeros(0))
    for nuisance, rate in ((factor, 1.0), (delay, -2j * np.pi * f)):
        up, down = (residuals._differ(own * np.exp(sign * h * rate), of) for sign in (1.0, -1.0))
        np.testing.assert_allclose(nuisance.change, residuals._parts((up - down) / (2.0 * h), of), rtol=1e-6, atol=1e-6)


def test_a_motion_is_fitted_up_to_where_it_changes_by_more_than_its_size():
    t = np.linspace(2.0, 10.0, 9)
    history = Response(HISTORY, "z", "", t, np.ones(9, dtype=complex), np.full(9, 0.5))
    (residuals, _), _ = fitted([transfer([0.3, 1.1], sigma=0.1), history], space(1))
    residuals.window(0.5, 10.0)
    assert residuals.horizon == 6.0
    assert len(residuals.seen[1].abscissa) == 5
    residuals.out, residuals.of_model = {"z"}, lambda _, functions: [each.abscissa + 1.0 for each in functions]
    assert residuals.held_out(None) == {"z": pytest.approx(np.sqrt(np.mean((2.0 * t[:5]) ** 2)))}
    residuals.out = set()
    residuals.window(1.0, 10.0)
    # a residual of the history is 2 at most: of 3 times this the seventh and later ones change by more
    residuals.slopes = lambda p: np.concatenate([np.full(4, 9.0), np.arange(9.0)])[:, None]
    assert residuals.stable_until(np.zeros(1), np.ones(1), 3.0) == t[7]


def test_units_by_frequency():
    f = np.geomspace(0.5, 5.0, 9)
    for power in (1, 2, -1, -2):
        assert _unit(transfer(f, (2.0 * np.pi * f) ** power), np.ones(9))[0].startswith(f"(2 pi f)^{power} times")
    assert _unit(transfer(f), np.ones(9)) == ("", False)


def test_the_name_with_a_unit_comes_before_that_without():
    point = Response(TRANSFER, "3z", "-1x", np.ones(1), np.ones(1), np.ones(1), ("m/s2", "N"))
    found = named_as(point, {"3z": "a", "3z m/s2": "b", "1x": "c", "input -1x": "-d"})
    assert (found.output, found.input, found.values.tolist()) == ("b", "d", [1.0])
    assert named_as(point, {"1x": "c"}).values.tolist() == [-1.0]
    back = Response(TRANSFER, "-7x", "7x", np.ones(1), np.ones(1), np.ones(1), ("m", "N"))
    assert named_as(back, {"output 7x": "-a", "7x N": "-d"}).values.tolist() == [-1.0]
    with pytest.raises(ModelError, match="channels: '7x' is both an output and an input of the data: name 'output 7x'"):
        check_channels({"7x": "a"}, [back])


def modes_of(out=frozenset(), begin="equilibrium"):
    """Residuals of two tests of two modes, with the hub or the arm held, and what they ask the models for."""
    nothing = np.full(2, np.nan)
    data = SimpleNamespace(frequencies=np.array([1.0, 2.0]), damping=nothing, sigma=nothing, damping_sigma=nothing)
    pairs = SimpleNamespace(
        pairs=np.array([1, 0]), frequencies=np.array([2.1, 1.1]), damping=np.zeros(2), mac=np.full((2, 2), 0.81)
    )
    asked, found = {}, ModeResiduals.__new__(ModeResiduals)

    def models(p, outputs):
        asked.update(outputs)
        of = SimpleNamespace(outputs=list(outputs), derivatives=np.ones((len(outputs), 1)))
        return SimpleNamespace(found=lambda: of)

    found.tests, found.begin, found.out, found.size = [(data, "hub"), (data, "arm")], begin, set(out), np.ones(1)
    found._rows = lambda p: (found._of([pairs, pairs], False), [pairs, pairs])
    found.models, (found.track, _) = models, found._rows(None)
    return found, asked


def test_modes_are_those_with_the_body_held_and_about_the_state_of_each_test():
    residuals, asked = modes_of()
    residuals.slopes(np.zeros(1))
    assert {(each.mode, each.held, each.start) for each in asked.values()} == {
        (mode, held, "equilibrium") for mode in (1, 2) for held in ("hub", "arm")
    }
    assert len(modes_of(out={0})[0].names) == 6  # of the first test alone
    del residuals.track["mode 1, shape, hub held"]
    residuals.track["mode 1, shape, lost"] = (0.1, "m", 0, 0)
    residuals.track["mode 1, Hz, lost"] = (0.3, "f", 0, 0)
    assert residuals.values(np.zeros(1))[-2:].tolist() == [1.0 / OF_SHAPE, 0.3]


def dataset(kind, ends, types, values, abscissa=None):
    """Lines of a function of dataset 58 in double precision; ends : node and direction of output and input."""
    head = f"{kind:5}{1:10}{1:5}{0:10}" + "".join(f" {'NONE':10}{node:10}{direction:4}" for node, direction in ends)
    form = f"{6:10}{len(values):10}{int(abscissa is None):10}{0.5:13.5E}{0.25:13.5E}{0.0:13.5E}"
    starts = [""] * len(values) if abscissa is None else [f"{x:13.5E}" for x in abscissa]
    rows = [f"{start}{z.real:20.12E}{z.imag:20.12E}" for start, z in zip(starts, values, strict=True)]
    return [*[""] * 5, head, form, "", *(f"{each:10}" for each in types), "", *rows]


def test_functions_of_universal_files_have_units_of_their_ends():
    """Of a file in mm and half newtons: a history has no input."""
    values = np.array([2.0 + 1.0j, 3.0 - 1.0j])
    turned = of_dataset(dataset(TRANSFER, ((5, 6), (4, -4)), (11, 13), values), "")
    assert (turned.output, turned.input, turned.units) == ("5rz", "-4rx", ("rad/s", "N m"))
    assert turned.abscissa.tolist() == [0.5, 0.75]
    for types, direction, kind, units, factor in (
        ((12, 13), 4, TRANSFER, ("m/s2", "N m"), 2.0),
        ((8, 9), 3, TRANSFER, ("m", "N"), 2e-3),
        ((12, 9), 3, HISTORY, ("m/s2", "N"), 1e-3),
    ):
        found = of_dataset(dataset(kind, ((5, 3), (4, direction)), types, values, [0.1, 0.7]), "")
        assert (found.units, found.abscissa.tolist()) == (units, [0.1, 0.7])
        np.testing.assert_allclose(in_si(found, 1e3, 2.0).values, factor * values)


def test_rows_of_a_file_are_in_the_order_of_their_frequencies():
    rows = [["2.0", "u", "y", "4", "1", "0.4"], ["9.0", "u", "z", "5", "0", "0.5"], ["1.0", "u", "y", "3", "0", "0.3"]]
    names = ["frequency", "input", "output", "real", "imag", "sigma"]
    found, other = functions_of_csv(Path("a.csv"), names, list(enumerate(rows, 2)))
    assert (found.abscissa.tolist(), found.values.tolist(), found.sigma.tolist()) == ([1, 2], [3, 4 + 1j], [0.3, 0.4])
    assert (other.output, other.sigma.tolist()) == ("z", [0.5])


def test_shapes_of_any_phase_agree_and_pairs_without_a_shape_are_those_of_the_frequency():
    rng = np.random.default_rng(3)
    shapes = rng.standard_normal((6, 2)) + 1j * rng.standard_normal((6, 2))
    nothing, data = np.zeros(6), SimpleNamespace(shapes=shapes.copy(), frequencies=np.array([1.0, 2.0]))
    data.shapes[5, 1] = np.nan
    model = shapes * [np.exp(0.7j), -2.0]
    model[5, 1] = 9.0  # where nothing was measured
    found = _beside(data, data.frequencies, np.zeros(2), model, nothing, np.abs(model).max(axis=0))
    assert np.diag(found.mac) == pytest.approx([1.0, 1.0])
    assert found.comac[:5] == pytest.approx(np.ones(5), rel=0.1)
    mac = np.array([[0.2, np.nan, 0.95], [np.nan] * 3, [0.1, np.nan, 0.3]])
    assert paired(np.array([5.0, 10.0, 6.0]), np.array([10.0, 10.3, 5.0]), mac).tolist() == [2, 1, -1]


def test_a_point_moves_as_if_fixed_to_its_body():
    """On a hinge about z at the origin: by z x r, in whatever axes the body is."""
    model = Model("door")
    model.add(RigidBody("door", 2.0, (0.1, 0.2, 0.3), position=(1.0, 0.0, 0.0), quaternion=(0.5, 0.5, -0.1, 0.7)))
    ends = JointEnd("ground", axis=(0, 0, 1)), JointEnd("door", at=(-1.0, 0.0, 0.0), axis=(0, 0, 1))
    model.add(Revolute("hinge", *ends))
    model.add(JointSpringDamper("spring", "hinge", stiffness=5.0))
    modes = solution(model, 1, start="assembled", own_axes=True)
    i = modes.motion.system.layout.frame_q[modes.motion.system.layout.bodies["door"]]
    place = modes.motion.q[i : i + 3] + np.array([0.2, 0.3, 0.4])
    moved = shapes_at(modes, np.tile(place, (3, 1)), np.eye(3))[0][:, 0].real
    np.testing.assert_allclose(moved / moved[1], np.array([-place[1], place[0], 0.0]) / place[0], atol=1e-12)


def test_priors_are_in_deviations_and_what_the_data_do_not_tell_takes_no_freedom():
    fit = identification._Fit.__new__(identification._Fit)
    fit.priors, fit.p0, fit.named = {"b": 0.5}, np.zeros(2), {"a": None, "b": None}
    assert fit.of_priors.tolist() == [[0.0, 2.0]]
    told = SimpleNamespace(after=np.zeros(5), deviations=np.array([1.0, np.inf]))
    assert identification.Identification.freedom.fget(told) == 4


def test_deviations_of_a_linear_fit_are_those_of_the_inverse_of_its_squares():
    """Beside a parameter that no row has, of which nothing is told."""
    M = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.5, -1.0, 0.0], [2.0, 2.0, 0.0]])
    y = M @ [2.0, 5.0, 0.0] + [0.1, -0.2, 0.1, 0.1]
    rows = SimpleNamespace(
        names=list("abcd"), values=lambda p: M @ p - y, slopes=lambda p: M, held_out=lambda p: {}, correlations=[]
    )
    fit = identification._Fit.__new__(identification._Fit)
    fit.named = dict.fromkeys("pqr", SimpleNamespace(limits=None, unit="m"))
    fit.rows, fit.functions, fit.priors, fit.runs = [rows], None, {}, 0
    fit.p0, fit.scale = np.array([1.0, 1.0, 7.0]), np.array([1.0, 4.0, 7.0])
    found, C = fit.found(), np.linalg.inv(M[:, :2].T @ M[:, :2])
    assert found.values[:2] == pytest.approx(np.linalg.lstsq(M[:, :2], y, rcond=None)[0], rel=1e-8)
    assert found.deviations.tolist() == [pytest.approx(np.sqrt(C[0, 0])), pytest.approx(np.sqrt(C[1, 1])), np.inf]
    assert found.correlation[0, 1] == pytest.approx(C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]))
    assert found.singular == pytest.approx([*np.linalg.svd(M[:, :2] * found.values[:2])[1], 0.0])
