"""The examples of Thompson, AIAA 2011-6277: closed forms of H2, reference responses, and all formulations together."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from checkout import CASES
from oracles.random_trees import random_state
from scipy.integrate import solve_ivp
from shared_runs import results_of

from femb import load_case, simulate
from femb.formulations.joint_tree_kernels import UNIVERSAL
from femb.formulations.reduced import ReducedForm, Root
from femb.numerics.rotations import cross_matrix, rotation_matrix
from femb.recording.evaluation import evaluated
from femb.run.time_loop import RunSummary, integrate
from femb.steppers import make_stepper
from femb.system.system import System

FILES = {path.stem.removeprefix("thompson_"): path for path in CASES.glob("thompson_*")}

LONG = (
    ("hamiltonian", "aircraft"),
    *((form, name) for form in ("velocity", "hamiltonian") for name in ("connected", "rotorcraft", "wind_turbine")),
    ("velocity", "aircraft"),
)


@cache
def run(name, formulation="reduced"):
    """The cases' own formulation is the reduced one."""
    if formulation == "reduced":
        return results_of(f"thompson_{name}")
    case = load_case(FILES[name])
    return simulate(case.model, replace(case.run, formulation=formulation))


@pytest.mark.parametrize("name", FILES)
def test_H2_is_that_of_the_examples(name):
    """Velocity rows b_x^{i/x} B_x and rotation rows A_{i/x} B_x for a joint x on the path to body i, [I, b_r^{i/r}] and
    [0, A_{i/r}] for a free root r, where all turns are about axes of the bodies: at a random state."""
    system = System(load_case(FILES[name]).model)
    form = ReducedForm(system)
    tree = form.tree
    q, _ = random_state(tree, np.random.default_rng(0))
    Q, _ = form.to_system(q[None], np.zeros((1, form.n_v)))
    places = {each.frame: tree.layout.frame_q[each.frame] for each in tree.frames}
    r = {frame: Q[0, i : i + 3] for frame, i in places.items()}
    A = {frame: rotation_matrix(Q[0, i + 3 : i + 7]) for frame, i in places.items()}
    wanted = np.zeros((system.n_v, form.n_v))
    for each in tree.frames:
        j, i, above = tree.layout.frame_v[each.frame], each.frame, each
        while above is not None:
            x, B = above.frame, np.eye(3)
            if above.joint is None:
                wanted[j : j + 3, above.u.start : above.u.start + 3] = np.eye(3)
                point = np.zeros(3)
            else:
                turn, point = rotation_matrix(above.below.rotation), above.below.offset
                B = turn[:, 2:]
                if above.rotation == UNIVERSAL:
                    first = A[x].T @ (A[tree.frames[above.parent].frame] if above.parent >= 0 else np.eye(3))
                    B = np.hstack([first @ rotation_matrix(above.above.rotation)[:, 2:], B])
            arm = A[x].T @ (r[i] - r[x]) - point
            columns = slice(above.u.stop - B.shape[1], above.u.stop)
            wanted[j : j + 3, columns] = -A[x] @ cross_matrix(arm) @ B
            wanted[j + 3 : j + 6, columns] = A[i].T @ A[x] @ B
            above = tree.frames[above.parent] if above.parent >= 0 else None
    np.testing.assert_allclose(form.H2(q)[0].toarray(), wanted, atol=1e-12 * np.max(np.abs(wanted)))


@pytest.mark.parametrize(
    ("formulation", "name"),
    [
        pytest.param(form, name, marks=[pytest.mark.slow] if form == "quaternion" or (form, name) in LONG else [])
        for form in ("velocity", "hamiltonian", "quaternion")
        for name in FILES
    ],
)
def test_formulations_agree(name, formulation):
    """Over the whole run: places and rates relative to the largest, angles, and reactions relative to the largest."""
    one, other = run(name), run(name, formulation)
    for body in one.bodies:
        for word in ("position", "velocity", "angular_velocity"):
            a, b = (each.arrays[f"bodies/{body}/{word}"] for each in (one, other))
            np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-8 * max(1.0, np.max(np.abs(a))))
    forces = [0.0, *(np.max(np.abs(joint.force)) for joint in one.joints.values())]
    for joint in one.joints:
        a, b = one.joints[joint], other.joints[joint]
        np.testing.assert_allclose(a.coordinates, b.coordinates, rtol=0.0, atol=1e-8)
        for word in ("force", "torque"):
            np.testing.assert_allclose(getattr(a, word), getattr(b, word), rtol=0.0, atol=1e-8 * max(1.0, *forces))
    far = max(1.0, *(np.max(np.abs(each.position)) for each in one.bodies.values()))
    assert np.max(one.audit.constraint_position) < 1e-13 * far


@pytest.mark.slow
@pytest.mark.parametrize("name", ["aircraft", "connected", "satellite"])
def test_roots_in_body_axes(name):
    """The source's speeds of aircraft and torso, (v, w) in body axes; and of a hinge point: the same motion."""
    case = load_case(FILES[name])
    wanted = run(name)
    for root in (Root(velocity="body"), Root((0.0, 0.2, -0.25)), Root((0.0, 0.2, -0.25), "body")):
        form = ReducedForm(System(case.model), root)
        stepper = make_stepper(form, case.run)
        frames = evaluated(list(integrate(form, stepper, case.run.output_times(), RunSummary([]))))
        for body, frame in form.layout.bodies.items():
            places = [of[frame] for of in (form.layout.frame_q, form.layout.frame_v)]
            for word, values, at in zip(("position", "velocity"), (frames.q, frames.v), places, strict=True):
                reference = wanted.arrays[f"bodies/{body}/{word}"]
                size = max(1.0, np.max(np.abs(reference)))
                np.testing.assert_allclose(values[:, at : at + 3], reference, rtol=0.0, atol=1e-8 * size)


@pytest.mark.slow
def test_pendulum_against_its_own_equation_and_the_reference():
    results = run("pendulum")
    joint, J = results.joints["hinge"], 0.08 + 1.5 * 0.4**2

    def rate(t, y):
        return [y[1], -(0.05 * y[1] + 0.6 * y[0] + 1.5 * 9.81 * 0.4 * np.sin(y[0])) / J]

    wanted = solve_ivp(rate, (0, 5), [1.0, 0.5], "DOP853", results.time, rtol=1e-12, atol=1e-13).y.T
    got = np.hstack([joint.coordinates, joint.rates])
    np.testing.assert_allclose(got, wanted, atol=1e-9)
    np.testing.assert_allclose(got[100], [-0.3356812080810927, 3.3126744257442624], atol=1e-8)
    np.testing.assert_allclose(got[-1], [-0.5889239791414831, -1.3840735055607167], atol=1e-8)
    # multipliers of the source's rows, inertial axes: the force that the pendulum exerts on the ground's side
    assert np.hypot(*joint.force[-1][:2]) == pytest.approx(np.hypot(-6.394832284194438, 11.825513839192572), rel=1e-8)


# Reference responses of the satellite: place, angles x, y, z of z-y-x, hinge angles with the second first; then rates.
SATELLITE = {
    5: [0.23331086666354875, -0.06590927351450439, 0.021905160826560483, 0.2509250662590506, -0.1059763162601436,
        0.382337384517689, -0.025868091620319333, -0.04880124437738937, -0.017097987222012275, 0.03553337345662276,
        -0.16577902972764155, 0.042411707532815056, 0.04174395974445823, 0.004185299056610363, 0.003273249834768514,
        0.04128552191493706, 0.04168854163993713, 0.013873126276361438, -0.19078747185343992, -0.06978128556259876,
        0.07664688436282965, 0.1910585907010111, 0.05674716010570594, -0.09246233995361815],
    10: [0.4772397046412736, -0.13111997832743827, 0.05241294331581945, 0.38410048619084153, -0.19141320185155886,
         0.5315986124044513, 0.028603851130083454, 0.032309019555778626, 0.054115506222939494, -0.024095022145316714,
         0.17062331569878197, -0.011539831958512378, 0.04068316154731199, -0.0001778657898756117, 0.013053141408679402,
         0.03746995314984769, 0.01267789081533094, 0.05582752693805918, -0.02800084613614228, -0.18846864772600083,
         0.07804770869637917, 0.0853355773656393, 0.12338576311685866, 0.014043596453675212],
}  # fmt: skip


def test_satellite_against_the_reference():
    results = run("satellite")
    bus, hinges = results.bodies["bus"], [results.joints[name] for name in ("right", "left", "mast")]
    got = [bus.position, bus.euler_angles("zyx")[:, ::-1], *(each.coordinates[:, ::-1] for each in hinges)]
    got += [bus.velocity, bus.angular_velocity, *(each.rates[:, ::-1] for each in hinges)]
    for instant, wanted in SATELLITE.items():
        k = int(np.argmin(np.abs(results.time - instant)))
        assert results.time[k] == pytest.approx(instant)
        np.testing.assert_allclose(np.hstack([each[k] for each in got]), wanted, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("blades", [3, 6])
def test_a_rotorcraft_of_any_number_of_blades(blades):
    """Its hub turns as one with its blades, which without flap or lag leave the fuselage where it is."""
    import runpy

    from femb.elements import Universal

    build = runpy.run_path(str(FILES["rotorcraft"]))["build"]
    model = build(blades)
    for name, joint in list(model.tables["joints"].items()):
        if isinstance(joint, Universal):
            model.tables["joints"][name] = replace(joint, start=(0.0, 0.0), rates=(0.0, 0.0))
    model.tables["bodies"]["fuselage"] = replace(
        model.bodies["fuselage"], position=(0.0, 0.0, 0.0), euler_angles=(0.0, 0.0, 0.0)
    )
    results = simulate(model, duration=0.2, output_interval=0.1, formulation="reduced", method="rk", rtol=1e-11)
    # blades pull outward through the hub's middle; their mass is 0.1 m above the hub, on the axis of the rotor
    np.testing.assert_allclose(results.joints["mast"].coordinates[:, 0], 32.5 * results.time, atol=1e-8)
    np.testing.assert_allclose(results.bodies["fuselage"].position, 0.0, atol=1e-9)
