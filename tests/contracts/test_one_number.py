"""One model, one number: the same physical quantity of random satellites by every road that leads to it.

A table of roads: each is a function of a satellite, under the name of its quantity, and gives the numbers of the first
road of that quantity. A new analysis joins by one function under ``@road``. The tolerance is that of the method:
rounding by the condition of the problem where a road is exact, the error of its method where it is not.
"""

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles.satellites import panelled, satellite, tip, tip_body
from seeds import SEED

import femb
from femb import elements as e
from femb.linear.linearise import plant_of
from femb.numerics import rotations
from femb.profiles import SmoothStep, Versine
from femb.system.moving_ground import mass_properties

QUICK = range(2)  # the two have both kinds of arms, a reduced and an exact boom
MANY = 48  # at least three of each of the six kinds, and others with each FEMB_SEED
SLOW = range(2 + MANY * (SEED - 1), 2 + MANY * SEED)
# of the boom that is a panel, what is cheap
PANEL, OF_PANEL = 2, ("frequencies, hub held", "mass", "static deflection", "poles, driven hinge")
TORQUE, TURN = "bodies.hub.torque", "bodies.hub.turn"
BASE = ("bodies.hub.acceleration", "bodies.hub.angular_acceleration")
# Hz, of transfer functions: below, among and above the first modes
FREQUENCIES = (0.3, 2.0, 11.0)
LOWEST = 6  # poles that are compared
STEP = 0.01  # s, between the samples of a run
RATIO = 0.007  # of the modal damping


@dataclass
class Case:
    """A random satellite, its variants, and what several roads take of it."""

    seed: int
    folder: Path
    kept: dict[Any, Any] = field(default_factory=dict)

    def model(self, **options: Any) -> femb.Model:
        """A variant, as it is written; of the many satellites with its damped modes, which are then found once."""
        key = ("model", *options.items())
        if key not in self.kept:
            model = satellite(self.seed, **options)
            self.kept[key] = model if self.seed <= PANEL else femb.completed(model)
        model = copy(self.kept[key])
        model.tables = {name: dict(items) for name, items in model.tables.items()}
        return model

    def linear(self, *, inputs: list[str] | None = None, outputs: list[str] | None = None, variant=(), **options: Any):
        """A linear model of a variant, from the hub's torque to its turn where nothing else is asked for."""
        key = (variant, *map(str, (inputs, outputs, *options.items())))
        if key not in self.kept:
            model = self.model(**dict(variant))
            self.kept[key] = plant_of(model, inputs or [TORQUE], outputs or [TURN], options)
        return self.kept[key]

    @cached_property
    def freedoms(self) -> int:
        """Of the whole satellite: elastic modes and six rigid motions."""
        return len(self.linear().states) // 2

    def plant(self, **options: Any) -> femb.handover.HybridCoordinates:
        """All modes of each appendage, of a variant."""
        key = ("plant", *options.items())
        if key not in self.kept:
            points = {"tip": tip(self.seed)}
            self.kept[key] = femb.handover.hybrid_coordinates(
                self.model(**options), self.freedoms - 6, held="hub", points=points
            )
        return self.kept[key]

    def modes(self, variant=(), **options: Any) -> femb.Modes:
        """As many modes as are compared, of a variant."""
        key = ("modes", variant, *options.items())
        if key not in self.kept:
            self.kept[key] = femb.modes(self.model(**dict(variant)), **{"count": LOWEST, **options})
        return self.kept[key]

    def write(self, name: str, written: Callable[[Path], Any]) -> Path:
        path = self.folder / f"{self.seed}_{name}"
        written(path)
        return path

    @cached_property
    def run(self) -> femb.Results:
        """The vibrations after two opposite pulses on the hub, by which it hardly turns."""
        model = self.model()
        for sign, begin in ((1.0, 0.0), (-1.0, 0.1)):
            torque, pulse = sign * np.array([0.2, 0.4, -0.3]), Versine(0.1, start=begin)
            model.add(e.Load(f"at {begin}", torque=torque, body="hub", frame="body", profile=pulse))
        return femb.simulate(model, duration=2.2, output_interval=STEP, method="radau", rtol=1e-8)


@dataclass(frozen=True)
class Road:
    """Numbers of a quantity: ``of`` a case, within a relative tolerance of those of the first road."""

    quantity: str
    name: str
    of: Callable[[Case], Any]
    within: float
    may_refuse: bool
    by_run: bool


ROADS: list[Road] = []


def road(quantity: str, within: float, may_refuse: bool = False, by_run: bool = False):
    """Joins a road to the table.

    may_refuse : it does not lead to the number in every satellite, and says so. by_run : it simulates for seconds, and
    is taken for the first two and for every tenth of many satellites.
    """

    def joined(of):
        ROADS.append(Road(quantity, of.__name__, of, within, may_refuse, by_run))
        return of

    return joined


def elastic(matrix):
    """The lowest eigenvalues of elastic vibrations, 1/s."""
    return vibrations(np.linalg.eigvals(matrix))


def vibrations(values):
    """The lowest of eigenvalues, 1/s, without rigid motions and the nutation of the whole."""
    values = values[values.imag > 1.0]
    return values[np.argsort(np.abs(values))][:LOWEST]


def second_order(mass, damping, stiffness):
    """The state matrix of M x'' + D x' + K x = 0."""
    n = len(mass)
    lower = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
    return np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower])


def pencil(samples, order):
    """Poles, 1/s, of the free vibrations of k channels (T, k): the matrix pencil of Hua and Sarkar, 1990."""
    half = len(samples) // 2
    windows = np.vstack([samples[i : len(samples) - half + i].T for i in range(half)])
    signal = np.linalg.svd(windows, full_matrices=False)[2][:order].T
    factors = np.linalg.eigvals(np.linalg.lstsq(signal[:-1], signal[1:], rcond=None)[0])
    return np.log(factors.astype(complex)) / STEP


def transfer(space, frequencies=FREQUENCIES):
    """(f, p, m) by the state space, and not by femb's own function of it."""
    states = (2j * np.pi * f * np.eye(len(space.A)) - space.A for f in frequencies)
    return np.array([space.C @ np.linalg.solve(each, space.B) + space.D for each in states])


# Poles of the free satellite, with all its dampers and its modal damping.


@road("poles", 0.0)
def of_the_whole_motion(case):
    return elastic(case.linear().A)


@road("poles", 1e-8)
def of_damped_modes(case):
    return case.modes(damped=True).eigenvalues


@road("poles", 1e-8)
def about_the_hub(case):
    return elastic(case.linear(hub="hub").A)


@road("poles", 1e-8)
def of_all_modes_kept(case):
    return elastic(case.linear(modes=case.freedoms - 6).A)


@road("poles", 1e-8)
def of_craig_bampton_of_full_order(case):
    return elastic(case.linear(hub="hub", craig_bampton=case.freedoms - 6).A)


@road("poles", 1e-8)
def of_hybrid_coordinates(case):
    return elastic(case.plant().state_space(dampers=True).A)


@road("poles", 1e-8)
def of_reduced_matrices(case):
    whole = femb.handover.CraigBampton.of(case.plant(), dampers=True)
    return elastic(second_order(whole.mass, whole.damping, whole.stiffness))


@road("poles", 1e-8)
def of_an_op4_file(case):
    """Read by another reader."""
    from pyyeti.nastran import op4

    whole = femb.handover.CraigBampton.of(case.plant(), dampers=True)
    found = op4.load(case.write("whole.op4", whole.write), into="dct")
    return elastic(second_order(*(found[name][0] for name in ("mcb", "bcb", "kcb"))))


@road("poles", 1.5e-3, by_run=True)
def of_the_decay_of_a_run(case):
    """The pencil multiplies the error of the run where two poles are close to each other."""
    run = case.run
    of_tip = (
        run.bodies["boom.tip"].angular_velocity if tip_body(case.seed) else run.beams["boom"].angular_velocity[:, -1]
    )
    samples = np.hstack([*(run.bodies[name].angular_velocity for name in ("hub", "panel")), of_tip])[20:]
    # a panel of shells has more vibrations in the samples
    order = 48 if panelled(case.seed) else 32
    found = pencil(samples / np.max(np.abs(samples), axis=0), order)
    return np.array([found[np.argmin(np.abs(found - pole))] for pole in of_the_whole_motion(case)])


@road("poles", 1e-8)
def of_a_loop_whose_law_does_nothing(case):
    """Samples so close that no vibration is above half their rate."""
    words = {"period": 1e-3, "inputs": (f"{TURN}.x",), "outputs": (f"{TORQUE}.x",)}
    law = femb.LinearLaw("idle", [], [], [], [[0.0]], **words)
    plant = case.linear(hub="hub", craig_bampton=case.freedoms - 6)
    values = femb.loop(plant, [law]).poles()
    return vibrations(values[values.imag < 0.99 * np.pi / 1e-3])


# Poles with the hub held.


@road("poles, hub held", 0.0)
def of_the_motion_of_a_fixed_hub(case):
    return elastic(case.linear(inputs=TIP(case), outputs=["bodies.panel.turn"], variant=HELD).A)


@road("poles, hub held", 1e-8)
def of_damped_modes_held(case):
    return case.modes(held="hub", damped=True).eigenvalues


@road("poles, hub held", 1e-8)
def of_full_order_held(case):
    return elastic(case.linear(inputs=list(BASE), held="hub").A)


@road("poles, hub held", 1e-8)
def of_all_modes_kept_held(case):
    return elastic(case.linear(inputs=list(BASE), held="hub", modes=case.freedoms - 6).A)


@road("poles, hub held", 1e-8)
def of_hybrid_coordinates_held(case):
    plant = case.plant()
    omega = 2.0 * np.pi * np.concatenate([part.frequencies for part in plant.appendages])
    return elastic(second_order(np.eye(len(omega)), plant.damping_matrix(dampers=True)[6:, 6:], np.diag(omega**2)))


# Frequencies with the hub held, without dampers.


@road("frequencies, hub held", 0.0)
def of_undamped_modes(case):
    return case.modes(held="hub").frequencies


@road("frequencies, hub held", 1e-8)
def of_the_stiffness_of_a_fixed_hub(case):
    space = case.linear(inputs=TIP(case), outputs=["bodies.panel.turn"], variant=(*HELD, *UNDAMPED))
    return np.abs(elastic(space.A)) / (2.0 * np.pi)


@road("frequencies, hub held", 1e-8)
def of_appendages(case):
    return lowest(part.frequencies for part in case.modes(held="hub").appendages)


@road("frequencies, hub held", 1e-8)
def of_appendages_handed_over(case):
    return lowest(part.frequencies for part in case.plant().appendages)


@road("frequencies, hub held", 1e-8)
def of_reduced_matrices_of_appendages(case):
    found = (femb.handover.CraigBampton.of(part) for part in case.plant().appendages)
    return lowest(np.sqrt(np.linalg.eigvalsh(each.stiffness[6:, 6:])) / (2.0 * np.pi) for each in found)


@road("frequencies, hub held", 1e-8)
def of_a_json_file(case):
    again = femb.handover.HybridCoordinates.read(case.write("plant.json", case.plant().write))
    return lowest(part.frequencies for part in again.appendages)


# Modal damping alone: the ratio that was given, of every damped mode of an appendage.


@road("ratios of modal damping", 0.0)
def as_given(case):
    return np.full(3 * len(case.plant().appendages), RATIO)


@road("ratios of modal damping", 1e-6)
def of_a_fixed_hub(case):
    """A mode that is not damped has its small part of the damping of the others: none, as all are orthogonal."""
    space = case.linear(inputs=TIP(case), outputs=["bodies.panel.turn"], variant=(*HELD, ("dampers", False)))
    return damped_ratios(np.linalg.eigvals(space.A))


@road("ratios of modal damping", 1e-6)
def of_full_order(case):
    return damped_ratios(np.linalg.eigvals(case.linear(inputs=list(BASE), held="hub", variant=MODAL).A))


@road("ratios of modal damping", 1e-6)
def of_craig_bampton(case):
    space = case.linear(inputs=list(BASE), held="hub", variant=MODAL, modes=case.freedoms - 6)
    return damped_ratios(np.linalg.eigvals(space.A))


@road("ratios of modal damping", 1e-9)
def of_a_plant(case):
    found = np.concatenate([part.damping for part in case.plant(dampers=False).appendages])
    return found[found > 0.0]


# Mass, first moments and inertia about the hub's origin, along its axes.


@road("mass", 0.0)
def of_the_check(case):
    system = femb.System(femb.completed(case.model()))
    mass, centre, inertia = mass_properties(system)
    hub = case.model().bodies["hub"]
    R, arm = rotations.rotation_matrix(hub.quaternion), centre - hub.position
    tilde = rotations.cross_matrix(R.T @ arm)
    whole = mass * np.eye(6)
    whole[:3, 3:], whole[3:, :3] = -mass * tilde, mass * tilde
    whole[3:, 3:] = R.T @ inertia @ R - mass * tilde @ tilde
    return whole


@road("mass", 1e-9)
def of_modes(case):
    return case.modes(held="hub").root.mass + sum(
        part.about(case.modes(held="hub").root.point, case.modes(held="hub").root.axes).rigid_mass
        for part in case.modes(held="hub").appendages
    )


@road("mass", 1e-9)
def of_what_is_handed_over(case):
    return case.plant().mass


@road("mass", 1e-9)
def of_reduced_matrices_handed_over(case):
    return femb.handover.CraigBampton.of(case.plant()).mass[:6, :6]


@road("mass", 1e-9, may_refuse=True)
def of_sliding_masses(case):
    return femb.handover.sliding_masses(case.plant(), 1).whole_mass


@road("mass", 1e-9, may_refuse=True)
def of_hinged_panels(case):
    return femb.handover.hinged_panels(case.plant(), 1).whole_mass


@road("mass", 1e-9)
def of_the_limit_of_high_frequencies_less_modes(case):
    """The residual mass and the effective masses of the modes make the whole."""
    plant = case.plant()
    return plant.hub_mass + sum(part.residual_mass + np.sum(part.effective_mass, axis=0) for part in plant.appendages)


# Momenta of the whole satellite, turning as one body about the inertial origin.


@road("momenta of a turn", 0.0)
def of_mass_properties(case):
    model = case.model(spin=SPIN)
    mass, centre, inertia = mass_properties(femb.System(femb.completed(model)))
    hub = model.bodies["hub"]
    omega = rotations.rotation_matrix(hub.quaternion) @ hub.angular_velocity
    line = mass * (hub.velocity + np.cross(omega, centre - hub.position))
    energy = 0.5 * omega @ inertia @ omega + 0.5 * line @ line / mass
    return np.concatenate([[energy], line, inertia @ omega + np.cross(centre, line)])


@road("momenta of a turn", 1e-9)
def of_the_audit(case):
    run = femb.simulate(case.model(spin=SPIN), duration=1e-3, output_interval=1e-3, method="radau")
    words = ("kinetic_energy", "linear_momentum", "angular_momentum")
    return np.concatenate([np.atleast_1d(run.audit[word][0]) for word in words])


# The wrench of each appendage on the hub by the acceleration of the hub, with modal damping alone.


@road("dynamic mass", 0.0)
def of_the_full_model(case):
    return -transfer(case.linear(inputs=list(BASE), outputs=ROOT, held="hub", variant=MODAL))


@road("dynamic mass", 1e-7)
def of_the_sparse_model(case):
    model = femb.linear_model(case.model(**dict(MODAL)), inputs=BASE, outputs=ROOT, held="hub")
    return -np.array([model.transfer(2j * np.pi * f) for f in FREQUENCIES])


@road("dynamic mass", 1e-7)
def of_a_frequency_response(case):
    space = case.linear(inputs=list(BASE), outputs=ROOT, held="hub", variant=MODAL)
    return -space.frequency_response(FREQUENCIES).values


@road("dynamic mass", 1e-7)
def of_all_modes(case):
    space = case.linear(inputs=list(BASE), outputs=ROOT, held="hub", variant=MODAL, modes=case.freedoms - 6)
    return -transfer(space)


@road("dynamic mass", 1e-7)
def of_participation(case):
    """From the acceleration of the hub's origin to the wrench about the root of each appendage."""
    return np.array([np.vstack([wrench(case, part, part.dynamic_mass(2j * np.pi * f)) for part in of_roots(case)])
                     for f in FREQUENCIES])  # fmt: skip


@road("dynamic mass", 1e-7)
def of_reduced_appendages(case):
    found = [(part, femb.handover.CraigBampton.of(part)) for part in of_roots(case)]
    return np.array([np.vstack([wrench(case, part, each.dynamic_mass(2j * np.pi * f)) for part, each in found])
                     for f in FREQUENCIES])  # fmt: skip


# The attitude of the free hub by a torque on it, with all dampers.


@road("attitude by torque", 0.0)
def of_the_whole_model(case):
    return transfer(case.linear())


@road("attitude by torque", 1e-7)
def of_full_order_about_the_hub(case):
    return transfer(case.linear(hub="hub"))


@road("attitude by torque", 1e-7)
def of_sparse_matrices(case):
    model = femb.linear_model(case.model(), inputs=[TORQUE], outputs=[TURN], hub="hub")
    return np.array([model.transfer(2j * np.pi * f) for f in FREQUENCIES])


@road("attitude by torque", 1e-7)
def of_all_modes_of_the_whole(case):
    return transfer(case.linear(modes=case.freedoms - 6))


@road("attitude by torque", 1e-7)
def of_all_modes_of_appendages(case):
    return transfer(case.linear(hub="hub", craig_bampton=case.freedoms - 6))


@road("attitude by torque", 1e-7)
def of_the_plant(case):
    return transfer(case.plant().state_space(dampers=True))[:, 3:6, 3:6]


@road("attitude by torque", 1e-7)
def of_a_written_state_space(case):
    space = case.linear(hub="hub")
    return transfer(femb.StateSpace.read(case.write("linear.npz", space.write)))


# The attitude in the time of some vibrations, by a constant torque.


@road("attitude in time", 0.0)
def of_the_state_space(case):
    """The exact solution of the linear model, stepped by its own matrix."""
    from scipy.linalg import expm

    space = case.linear(hub="hub")
    n, m = space.B.shape
    flow = expm(INTERVAL * np.block([[space.A, space.B], [np.zeros((m, n + m))]]))
    state, found = np.concatenate([np.zeros(n), STEADY]), []
    for _ in range(20):
        state = flow @ state
        found.append(space.C @ state[:n])
    return np.array(found)


@road("attitude in time", 5e-7)
def of_an_fmu(case):
    """Run by another program."""
    fmpy = pytest.importorskip("fmpy")

    path = case.write("linear.fmu", lambda path: femb.handover.write_fmu(case.linear(hub="hub"), path, step=INTERVAL))
    names = [f"{TORQUE}.{axis}" for axis in "xyz"]
    outputs = [f"{TURN}.{axis}" for axis in "xyz"]
    times = {"stop_time": 20 * INTERVAL, "output_interval": INTERVAL}
    found = fmpy.simulate_fmu(path, **times, start_values=dict(zip(names, STEADY, strict=True)), output=outputs)
    return np.array([[row[name] for name in outputs] for row in found[1:]])


@road("attitude in time", 2e-3, by_run=True)
def of_a_run(case):
    """Of the whole model, in so small a motion that it is linear."""
    model = case.model()
    model.add(e.Load("steady", torque=STEADY, body="hub", frame="body"))
    run = femb.simulate(model, duration=20 * INTERVAL, output_interval=INTERVAL, method="radau", rtol=1e-9)
    start = run.bodies["hub"].quaternion[0]
    return np.array([rotations.logarithm(rotations.multiply(rotations.conjugate(start), p))
                     for p in run.bodies["hub"].quaternion[1:]])  # fmt: skip


# The displacement of the boom's tip and the turn of the panel by a small force, hub held.


@road("static deflection", 0.0)
def of_the_linear_model_at_rest(case):
    space = case.linear(inputs=TIP(case), outputs=DEFLECTIONS(case), variant=HELD)
    return (space.D - space.C @ np.linalg.solve(space.A, space.B)) @ PUSH


@road("static deflection", 1e-7)
def of_the_structure_held(case):
    space = case.linear(inputs=TIP(case), outputs=DEFLECTIONS(case), held="hub")
    return (space.D - space.C @ np.linalg.solve(space.A, space.B)) @ PUSH


@road("static deflection", 1e-7)
def of_few_modes_and_the_static_share_of_others(case):
    space = case.linear(inputs=TIP(case), outputs=DEFLECTIONS(case), held="hub", modes=3)
    return (space.D - space.C @ np.linalg.solve(space.A, space.B)) @ PUSH


@road("static deflection", 1e-6)
def of_statics(case):
    """Half the difference of both directions: what is of second order cancels."""
    there, back = (femb.static(pushed(case, push=push), steps=1) for push in (PUSH, -PUSH))
    return 0.5 * (deflection(case, there, -1) - deflection(case, back, -1))


@road("static deflection", 1e-3, by_run=True)
def of_a_slow_run(case):
    """The force grows over ten periods of the first mode, and the dampers take what is left of its vibrations."""
    run = femb.simulate(pushed(case, SmoothStep(6.0)), duration=8.0, output_interval=1.0, method="radau", rtol=1e-8)
    return deflection(case, run, -1) - deflection(case, run, 0)


# Poles about states that are not free of load.


@road("poles, driven hinge", 0.0)
def of_a_driven_motion(case):
    return elastic(case.linear(variant=DRIVEN).A)


@road("poles, driven hinge", 1e-8)
def of_modes_of_a_driven_hinge(case):
    return case.modes(variant=DRIVEN, damped=True).eigenvalues


@road("poles, driven hinge", 1e-8)
def of_a_driven_hinge_about_the_hub(case):
    return elastic(case.linear(variant=DRIVEN, hub="hub").A)


@road("poles, heated boom", 0.0)
def of_a_heated_motion(case):
    return elastic(case.linear(variant=HEATED, start="equilibrium").A)


@road("poles, heated boom", 1e-6)
def of_modes_of_a_heated_boom(case):
    return case.modes(variant=HEATED, damped=True, start="equilibrium").eigenvalues


@road("poles, heated boom", 1e-6)
def of_all_modes_of_a_heated_boom(case):
    return elastic(case.linear(variant=HEATED, start="equilibrium", modes=case.freedoms - 6).A)


@road("poles in rotation", 0.0)
def of_a_turning_motion(case):
    return elastic(case.linear(variant=TURNING, start="equilibrium").A)


@road("poles in rotation", 1e-6)
def of_modes_in_rotation(case):
    return vibrations(case.modes(variant=TURNING, damped=True, start="equilibrium", count=LOWEST + 2).eigenvalues)


@road("poles in rotation", 1e-6)
def of_full_order_in_rotation(case):
    return elastic(case.linear(variant=TURNING, start="equilibrium", hub="hub").A)


# What several roads share.

HELD, DRIVEN, UNDAMPED = (("held", True),), (("driven", True),), (("dampers", False), ("modal", False))
MODAL, HEATED, TURNING = (("dampers", False),), (("heat", 40.0),), (("spin", 0.3),)
ROOT = [f"appendages.{name}.{word}" for name in ("arm", "boom") for word in ("force", "torque")]
SPIN = 0.3  # rad/s
INTERVAL, STEADY = 0.05, np.array([0.3, -0.2, 0.4]) * 1e-2  # s, N m
PUSH = np.array([1.0, -0.5, 0.7]) * 1e-3  # N


def TIP(case):
    return [f"{tip(case.seed)}.force"]


def DEFLECTIONS(case):
    return [f"{tip(case.seed)}.position", "bodies.panel.position"]


def lowest(frequencies):
    return np.sort(np.concatenate(list(frequencies)))[:LOWEST]


def damped_ratios(values):
    """Of the modes that have any damping, of which there are no others."""
    values = values[values.imag > 0.5]
    ratios = -values.real / np.abs(values)
    return ratios[ratios > 1e-5]


def of_roots(case):
    """Both appendages about their roots."""
    points = [part.point for part in case.modes(held="hub").appendages]
    plant = case.plant(dampers=False)
    return [part.about(point) for part, point in zip(plant.appendages, points, strict=True)]


def wrench(case, part, mass):
    """(6, 6): by the linear acceleration of the hub's origin, in inertial axes, and the angular one, in the hub's."""
    at_root = np.eye(6)
    at_root[:3, :3] = part.axes.T
    at_root[:3, 3:] = -rotations.cross_matrix(part.axes.T @ (part.point - case.plant().point))
    return mass @ at_root


def pushed(case, profile=None, push=PUSH):
    """The satellite with a held hub and the force on its boom, in the axes of its tip."""
    model = case.model(held=True)
    where = {"body": "boom.tip"} if tip_body(case.seed) else {"beam": "boom", "node": -1}
    words = {} if profile is None else {"profile": profile}
    model.add(e.Load("push", force=push, frame="body", **where, **words))
    return model


def deflection(case, results, k):
    last = results.bodies["boom.tip"].position[k] if tip_body(case.seed) else results.beams["boom"].position[k, -1]
    return np.concatenate([last, results.bodies["panel"].position[k]])


QUANTITIES = list(dict.fromkeys(each.quantity for each in ROADS))


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """What the roads of one satellite share."""
    folder, kept = tmp_path_factory.mktemp("roads"), {}

    def case(seed):
        if seed not in kept:
            kept.clear()
            kept[seed] = Case(seed, folder)
        return kept[seed]

    return case


def wrong(case, quantity):
    """What the other roads to a quantity say of the first, where it is too far off."""
    first, *others = (each for each in ROADS if each.quantity == quantity)
    reference = np.asarray(first.of(case))
    messages = []
    for each in others:
        if each.by_run and case.seed >= PANEL and case.seed % 10:
            continue
        try:
            with warnings.catch_warnings():
                if each.may_refuse:  # it says what it leaves out
                    warnings.simplefilter("ignore", femb.FembWarning)
                found = np.asarray(each.of(case))
        except femb.ModelError:
            if each.may_refuse:
                continue
            raise
        assert found.shape == reference.shape, each.name
        error = np.max(np.abs(found - reference)) / np.max(np.abs(reference))
        if np.ndim(reference) == 1 and "poles" in quantity:
            error = np.max(np.abs(found - reference) / np.abs(reference))
        if not error <= each.within:
            messages.append(f"{quantity}, {each.name}: {error:.2e} off, within {each.within:.0e}")
    return messages


@pytest.mark.slow
@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("seed", QUICK)
def test_every_road_gives_the_same_number(seed, quantity, cases):
    assert wrong(cases(seed), quantity) == []


@pytest.mark.slow
@pytest.mark.parametrize("quantity", OF_PANEL)
def test_every_road_gives_the_same_number_with_a_panel(quantity, cases):
    assert wrong(cases(PANEL), quantity) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", SLOW)
def test_every_road_gives_the_same_number_in_many_satellites(seed, cases):
    """All quantities of a satellite in one process, which shares its models."""
    assert [message for quantity in QUANTITIES for message in wrong(cases(seed), quantity)] == []
