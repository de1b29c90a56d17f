"""Compiles what most tests need, before they begin: the catalogues of elements, formulations and steppers once through.

Workers that start with an empty cache would each compile the same kernels. ``python compile_first.py beams`` and
``python compile_first.py bodies`` compile one half each, so that both together keep two cores busy. Each half begins
with what the other needs at its end, and finds it stored: one with elements, the other with formulations and steppers.
"""

import sys
import warnings
from dataclasses import replace

import numpy as np
from checkout import CASES
from contracts import test_formulations, test_items, test_steppers
from models import of_parts

import femb
from femb.elements import FlexibleBody, RigidBody
from femb.formulations import FORMULATIONS, make_formulation
from femb.linear import linearize
from femb.model.model import Model
from femb.steppers import STEPPERS, make_stepper, methods_of
from femb.system.system import System


def evaluate(model: Model) -> None:
    """Forces, energies, matrices and the exact tangent of a model, and what its elements record."""
    system = System(model, assemble=True)
    q, v, a = system.q0, system.v0, np.zeros(system.n_v)
    u = system.inputs_at(0.0, q, v)
    system.energy_momentum(q[None], v[None])
    system.power(u[None], q[None], v[None])
    system.matrices(u, q, v)
    system.tangent(u, q, v, a)
    femb.simulate(model, duration=1e-6, output_interval=1e-6, method="rk", start="assembled")


def integrate(model: Model) -> None:
    """A step of every stepper, in every formulation that it integrates and the model can be of."""
    system = System(model)
    for name in FORMULATIONS:
        if name == "hamiltonian" and model.beams:
            continue
        form = make_formulation(system, name)
        for key, entry in STEPPERS.items():
            if entry.method in methods_of(form):
                run = replace(test_steppers.run(key, 1e-6, 1e-6), formulation=name)
                make_stepper(form, run).step(1e-6)
        femb.simulate(model, duration=1e-6, output_interval=1e-6, formulation=name, method="rk")


def begin(*names: str) -> None:
    """A thousandth of the run of cases: what samples, outputs and orbits take."""
    for name in names:
        path = CASES / f"{name}.toml"
        duration = 1e-3 * femb.load_case(path).run.duration
        femb.simulate(path, duration=duration, output_interval=duration)


def beam_beside_its_axis() -> Model:
    """A beam whose mass is not on its axis, for which kernels of their own are compiled."""
    section = femb.Section("tube", 1e-3, (2e-7, 1e-7), 3e-7, 2000.0, 1e8, 4e7, mass_axis=(0.01, 0.02))
    return of_parts(femb.Beam("mast", section, length=1.0, start=femb.Attachment("ground", direction=(1, 0, 0))))


def beams() -> None:
    """Beams and shells first; then formulations and steppers with beams, whose own kernels the other half has."""
    for make in test_items.EXAMPLES.values():
        model = make()
        if model.beams or model.shells:
            evaluate(model)
    evaluate(beam_beside_its_axis())
    linearize(test_formulations.boom())
    integrate(test_formulations.boom())
    begin("satellite_two_arrays", "solar_sail")


def bodies() -> None:
    """Formulations and steppers first, then other elements; last a system with beams."""
    integrate(test_formulations.chain())
    evaluate(test_items.EXAMPLES[RigidBody]())
    evaluate(test_items.EXAMPLES[FlexibleBody]())  # before the other half comes to the one in orbit
    for make in test_items.EXAMPLES.values():
        model = make()
        if not model.beams and not model.shells:
            evaluate(model)
    linearize(test_formulations.chain(), state={"joints.hinge two.angle": 0.3})
    integrate(test_formulations.satellite())
    begin("detumbling", "boom_in_orbit")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"beams": beams, "bodies": bodies}[sys.argv[1]]()
