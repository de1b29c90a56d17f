"""Accelerations of a chain on universal joints in independent speeds and with constraints, from 2 to 500 bodies."""

import numpy as np
from bench_models import best

from femb import Model, RigidBody
from femb.elements import JointEnd, Universal
from femb.formulations.reduced import ReducedForm
from femb.system.system import System

SIZES = (2, 5, 10, 20, 50, 100, 200, 500)


def chain(bodies: int) -> Model:
    """Links of 1 kg and 0.5 m."""
    model = Model(gravity=(0, 0, -9.81))
    for k in range(bodies):
        model.add(RigidBody(f"b{k}", 1.0, (0.1, 0.1, 0.02), center_of_mass=(0, 0, -0.25)))
        above = JointEnd("ground", axis=(1, 0, 0)) if k == 0 else JointEnd(f"b{k - 1}", at=(0, 0, -0.5), axis=(1, 0, 0))
        model.add(Universal(f"j{k}", above, JointEnd(f"b{k}")))
    return model


def main() -> None:
    print(f"{'bodies':>6} {'speeds':>6} {'reduced':>9} {'velocity':>9} {'kinematics':>11} {'mass':>9}  (us a state)")
    for bodies in SIZES:
        system = System(chain(bodies))
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


if __name__ == "__main__":
    main()
