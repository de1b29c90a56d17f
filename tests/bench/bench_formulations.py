"""What formulations cost: ``python bench_formulations.py [rates] [quaternion] [speeds] [momenta]``.

rates : one evaluation of q' and v' in each formulation, on chains of rods on universal joints. quaternion : runs in the
quaternion form and in the velocity form, alternately, and their ratio. speeds : accelerations of a chain on universal
joints in independent speeds and with constraints, from 2 to 500 bodies. momenta : the rates of a chain in momenta by
recursion, and its energy matrix, from 1 to 500 segments; Pinocchio's articulated-body accelerations of the same chain
(extra ``bench``) stand beside them, and are compared.
"""

import importlib.util
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from bench_models import best
from oracles.energy_matrix import energy_matrix

from femb import Ground, JointEnd, Model, Revolute, RigidBody, Universal, load_case, simulate
from femb.formulations import make_formulation
from femb.formulations.hamiltonian.momentum_form import MomentumForm
from femb.formulations.reduced import ReducedForm
from femb.system.system import System

CASES = Path(__file__).resolve().parents[2] / "cases"

# One evaluation of the rates

RODS = (2, 5, 10, 20, 50, 100)
FORMULATIONS = ("velocity", "reduced", "hamiltonian")


def rods(segments):
    """The System of the case chain_universal with so many rods."""
    spec = importlib.util.spec_from_file_location("chain_universal", CASES / "chain_universal.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return System(module.build(segments))


def evaluation(form):
    """What an explicit stage asks of a form, at its start."""
    q, v = form.q0, form.v0

    def evaluate():
        u = form.inputs_at(0.0, q, v)
        form.rates(q[None], v[None])
        change, multipliers = form.forward(u, q, v)
        form.budget_rates(u[None], q[None], v[None], multipliers[None])
        return change

    return evaluate


def measure_rates() -> None:
    print("us an evaluation")
    print(" ".join(f"{word:>12}" for word in ("rods", *FORMULATIONS)))
    for n in RODS:
        system = rods(n)
        forms = [make_formulation(system, name) for name in FORMULATIONS]
        costs = [1e6 * best(evaluation(form)) for form in forms]
        print(f"{n:12d} " + " ".join(f"{cost:12.0f}" for cost in costs))
        assert np.all(np.isfinite(costs))


# Runs in the quaternion form

# How long the cases run with implicit and with explicit steps, s.
STRETCHES = {"satellite_forced": (10.0, 0.02), "rigid_body_free": (2.0, 2.0), "slider_crank_rigid": (0.2, 0.2)}
PAIR = ("velocity", "quaternion")
BOUND, ROUNDS = 3.0, 7


def run(name, method, formulation):
    """CPU time (s) of a run, and how many steps it took."""
    case = load_case(CASES / f"{name}.toml")
    duration = STRETCHES[name][method == "rk"]
    options = {"method": method, "formulation": formulation, "duration": duration, "output_interval": duration / 10}
    start = time.process_time()
    results = simulate(case.model, replace(case.run, **options))
    return time.process_time() - start, results.statistics["steps"]


def measure_quaternion() -> None:
    print(f"CPU time of a run, least of {ROUNDS}, and the quaternion form's over the velocity form's (bound {BOUND:g})")
    print(f"{'case':20} {'method':6} {'velocity':>16} {'quaternion':>16} {'ratio':>6}")
    for name in STRETCHES:
        for method in ("rk", "radau", "bdf"):
            for formulation in PAIR:
                run(name, method, formulation)  # compiles
            rounds = [[run(name, method, formulation) for formulation in PAIR] for _ in range(ROUNDS)]
            times = [min(each[k][0] for each in rounds) for k in range(2)]
            cells = [f"{1e3 * t:7.1f} ms /{rounds[0][k][1]:5}" for k, t in enumerate(times)]
            print(f"{name:20} {method:6} {cells[0]:>16} {cells[1]:>16} {times[1] / times[0]:6.2f}", flush=True)


# Accelerations in independent speeds

BODIES = (2, 5, 10, 20, 50, 100, 200, 500)


def links(bodies: int) -> Model:
    """Links of 1 kg and 0.5 m."""
    model = Model(gravity=(0, 0, -9.81))
    for k in range(bodies):
        model.add(RigidBody(f"b{k}", 1.0, (0.1, 0.1, 0.02), center_of_mass=(0, 0, -0.25)))
        above = JointEnd("ground", axis=(1, 0, 0)) if k == 0 else JointEnd(f"b{k - 1}", at=(0, 0, -0.5), axis=(1, 0, 0))
        model.add(Universal(f"j{k}", above, JointEnd(f"b{k}")))
    return model


def measure_speeds() -> None:
    print(f"{'bodies':>6} {'speeds':>6} {'reduced':>9} {'velocity':>9} {'kinematics':>11} {'mass':>9}  (us a state)")
    for bodies in BODIES:
        system = System(links(bodies))
        form = ReducedForm(system)
        rng = np.random.default_rng(0)
        q, v, u = rng.uniform(-0.5, 0.5, form.n_q), rng.standard_normal(form.n_v), np.zeros(system.n_u)
        Q, V = (each[0] for each in form.to_system(q[None], v[None]))
        H2, H2_rate = form.H2(q, v)
        wanted, got = system.acceleration(u, Q, V), H2 @ form.acceleration(u, q, v) + H2_rate @ v
        assert np.max(np.abs(got - wanted)) < 1e-6 * np.max(np.abs(wanted))
        swept = form.tree.sweep(q[None], v[None])
        times = [
            best(lambda: form.acceleration(u, q, v)),  # noqa: B023
            best(lambda: system.acceleration(u, Q, V)),  # noqa: B023
            best(lambda: form.tree.sweep(q[None], v[None])),  # noqa: B023
            best(lambda: form.mass(swept)),  # noqa: B023
        ]
        print(f"{bodies:6d} {form.n_v:6d}", *(f"{1e6 * each:9.0f}" for each in times), flush=True)


# Rates in momenta

SEGMENTS = (1, 2, 3, 4, 6, 10, 20, 50, 100, 200, 500)
STATES = 8


def chain(segments):
    """Uniform links of 1 kg and 1 m on hinges about y and z in turn."""
    model = Model("chain", gravity=(0, 0, -9.81))
    model.add(Ground())
    end, x = "ground", (1.0, 0.0, 0.0)
    for k in range(segments):
        axis, at = (0.0, float(k % 2 == 0), float(k % 2)), (1.0 if k else 0.0, 0.0, 0.0)
        model.add(RigidBody(f"s{k}", 1.0, (1e-3, 1 / 12, 1 / 12), center_of_mass=(0.5, 0, 0)))
        first = JointEnd(end, at=at, axis=axis, reference=x)
        model.add(Revolute(f"j{k}", first, JointEnd(f"s{k}", axis=axis, reference=x)))
        end = f"s{k}"
    return MomentumForm(System(model))


def state(segments):
    """Coordinates and rates, the same in every run."""
    rng = np.random.default_rng(segments)
    return rng.uniform(-0.5, 0.5, segments), 0.1 * rng.standard_normal(segments)


def by_pinocchio(segments, q, v):
    """Accelerations of the same chain by Pinocchio, and the CPU time of a call, s."""
    import pinocchio as pin

    model, joint = pin.Model(), 0
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    for k in range(segments):
        kind = pin.JointModelRY() if k % 2 == 0 else pin.JointModelRZ()
        joint = model.addJoint(joint, kind, pin.SE3(np.eye(3), np.array([1.0 if k else 0.0, 0.0, 0.0])), f"s{k}")
        inertia = pin.Inertia(1.0, np.array([0.5, 0.0, 0.0]), np.diag([1e-3, 1 / 12, 1 / 12]))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    data, no_torque = model.createData(), np.zeros(segments)
    found = pin.aba(model, data, q, v, no_torque).copy()
    return found, best(lambda: pin.aba(model, data, q, v, no_torque))


def measure_momenta() -> None:
    beside = find_spec("pinocchio") is not None
    print(f"us a call of one state; in brackets us a state of {STATES} at once")
    header = ("segments", "rates", "a segment", "energy matrix", "acceleration", "pinocchio", "difference")
    print(" ".join(f"{word:>16}" for word in header))
    for n in SEGMENTS:
        form = chain(n)
        q, rate = state(n)
        v = form.momentum_equations.momenta(q, rate, np.zeros(6))
        no_loads, motion = form.momentum_equations.no_loads, form.momentum_equations.motion(q, v)
        one, many = ((np.repeat(q[None], s, 0), np.repeat(v[None], s, 0)) for s in (1, STATES))
        single = 1e6 * best(lambda: form.momentum_equations.rates(*one, no_loads))  # noqa: B023
        cost = 1e6 / STATES * best(lambda: form.momentum_equations.rates(*many, no_loads))  # noqa: B023
        matrix = 1e6 * best(lambda: motion.energy_matrix)  # noqa: B023
        zero = np.zeros(n)
        acceleration = 1e6 * best(lambda: form.momentum_equations.accelerations(q, v, no_loads, zero))  # noqa: B023
        row = [f"{n:16d}", f"{single:8.2f}{f'({cost:.2f})':>8}", f"{cost / n:16.3f}", f"{matrix:16.2f}"]
        row.append(f"{acceleration:16.1f}")
        if beside:
            wanted, taken = by_pinocchio(n, q, rate)
            got = form.momentum_equations.accelerations(q, v, no_loads, zero).second
            row += [f"{1e6 * taken:16.2f}", f"{np.abs(got - wanted).max() / np.abs(wanted).max():16.1e}"]
        print(" ".join(row))
        if n == 50:
            assert cost < n, "more than 1 us a segment at 50"
    for n in (10, 30):  # as it is written in the source
        tree, (q, _) = chain(n).tree, state(n)
        cost = 1e3 * best(lambda: energy_matrix(tree, q))  # noqa: B023
        print(f"energy matrix of {n} segments by the source's recursion in numpy: {cost:.2f} ms")


PARTS = {
    "rates": measure_rates, "quaternion": measure_quaternion, "speeds": measure_speeds, "momenta": measure_momenta,
}  # fmt: skip

if __name__ == "__main__":
    for word in sys.argv[1:] or PARTS:
        PARTS[word]()
