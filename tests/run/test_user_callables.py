"""Functions of the user that fail, overwrite what they are given, answer at random or chatter."""

import itertools

import numpy as np
import pytest
from long_runs import slow, slow_but
from models import of_parts, refuses

from femb import Differentiated, Ground, Load, Model, PointMass, RigidBody, SolveError, inverse, linearize, static
from femb.elements import (
    DistanceDriver,
    JointEnd,
    JointMotor,
    Latch,
    PositionDriver,
    Prismatic,
    SpringDamper,
    SpringEnd,
)
from femb.elements.marker import Place
from femb.run.simulate import simulate
from femb.run.time_loop import Event

METHODS = {
    "radau": {"method": "radau"},
    "bdf": {"method": "bdf"},
    "dop853": {"method": "rk"},
    "rk4": {"method": "rk", "tableau": "rk4", "step": 0.01},
    "gauss": {"method": "gauss", "step": 0.01},
    "generalized-alpha": {"method": "generalized-alpha"},
}
every_method = pytest.mark.parametrize("name", METHODS)


def pushed(force, **words):
    return of_parts(PointMass("m", mass=1.0, position=(1.0, 0, 0)), Load("push", body="m", force=force, **words))


def run(model, name="radau", duration=1.0, **words):
    return simulate(model, duration=duration, output_interval=0.1, **METHODS[name], **words)


# Overwriting


@pytest.mark.parametrize(
    "overwrite",
    [
        lambda state: state.bodies["m"].position.__setitem__(0, 7.0),
        lambda state: state.bodies["m"].velocity.__iadd__(1.0),
        lambda state: state.q.__setitem__(0, 7.0),
        lambda state: state.v.fill(0.0),
    ],
)
@every_method
def test_a_load_cannot_overwrite_the_state(name, overwrite):
    def push(t, state):
        overwrite(state)
        return (0.0, 0.0, 0.0)

    with pytest.raises(SolveError, match=r"loads\.push\.force: raised ValueError at t = 0 s: .*read-only") as caught:
        run(pushed(push), name)
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_event_cannot_overwrite_the_state():
    def event(t, state):
        state.bodies["m"].position[:] = 0.0
        return 1.0

    with pytest.raises(SolveError, match=r"event 'bad': raised ValueError at t = 0 s: .*read-only"):
        run(pushed((1.0, 0, 0)), events=(Event("bad", event),))


# Exceptions


@pytest.mark.parametrize(
    ("error", "text"),
    [(KeyError("hub"), "KeyError"), (TypeError("no"), "TypeError"), (ZeroDivisionError("zero"), "ZeroDivisionError")],
)
@every_method
def test_an_exception_in_a_load_keeps_the_results(name, error, text):
    def push(t, state):
        if t > 0.5:
            raise error
        return (1.0, 0.0, 0.0)

    with pytest.raises(SolveError, match=rf"loads\.push\.force: raised {text} at t = 0\.5") as caught:
        run(pushed(push), name)
    causes, cause = [], caught.value
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__
    assert error in causes
    results = caught.value.results
    assert results.status == "failed"
    assert results.time[-1] > 0.3
    np.testing.assert_allclose(results.bodies["m"].position[:, 0], 1.0 + 0.5 * results.time**2, rtol=0.0, atol=2e-5)


def sliding(*items):
    model = Model("sliding")
    model.add(PointMass("other", mass=1.0, position=(5.0, 0, 0)))
    from femb import RigidBody

    model.add(RigidBody("m", mass=1.0, inertia=1.0, velocity=(1.0, 0, 0)))
    model.add(Prismatic("rail", JointEnd("ground", axis=(1, 0, 0)), JointEnd("m", axis=(1, 0, 0))))
    for item in items:
        model.add(item)
    return model


def fails(*arguments):
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("items", "label"),
    [
        ([JointMotor("drive", joint="rail", force=fails)], r"loads\.drive\.force"),
        (
            [SpringDamper("s", start=SpringEnd(body="other"), end=SpringEnd(body="m"), force=fails)],
            r"springs\.s\.force",
        ),
        ([Load("push", body="m", force=(1.0, 0, 0), profile=fails)], r"loads\.push\.force\.factor"),
        ([Latch("catch", joint="rail", when=fails)], r"latches\.catch"),
    ],
)
def test_an_exception_anywhere_names_the_item(items, label):
    with pytest.raises(SolveError, match=rf"{label}: raised RuntimeError at t = 0 s: broken") as caught:
        run(sliding(*items))
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_an_exception_in_a_motion_names_the_driver():
    def motion(t):
        if t > 0.4:
            raise RuntimeError("broken")
        return 1.0 + t * t, 2.0 * t, 2.0

    model = Model("driven")
    model.add(PointMass("m", mass=1.0, position=(1.0, 0, 0)))
    model.add(PositionDriver("pull", first=Place("ground"), second=Place("m"), x=motion))
    with pytest.raises(SolveError, match=r"drivers\.pull\.x: raised RuntimeError at t = 0\.4\d* s: broken") as caught:
        run(model)
    assert caught.value.results.time[-1] >= 0.3


def test_a_load_that_is_no_number_is_refused():
    with pytest.raises(SolveError, match=r"loads\.push\.force\.factor: got 'x' at t = 0 s, wanted a number"):
        run(pushed((1.0, 0, 0), profile=lambda t: "x"))


def test_a_load_that_has_no_number_at_an_output_time_alone_is_named():
    """No step ends there: what is recorded between them is looked at too."""
    profile = lambda t: np.nan if abs(t - 0.3) < 1e-9 else 1.0  # noqa: E731
    with pytest.raises(SolveError, match=r"loads\.push\.force\.factor: got nan at t = 0\.3 s, which is not finite"):
        run(pushed((1.0, 0, 0), profile=profile), "dop853")


# Events


@pytest.mark.parametrize("value", [np.nan, True, np.bool_(False), None, "0", [1.0, 2.0]])
def test_events_that_give_no_number_are_refused(value):
    def event(t, state):
        return 1.0 if t < 0.3 else value

    with pytest.raises(SolveError, match=r"event 'odd': got .* at t = 0\.[3-9].* s, wanted a number") as caught:
        run(pushed((1.0, 0, 0)), events=(Event("odd", event),))
    assert caught.value.results.status == "failed"


@pytest.mark.parametrize("value", [np.nan, True])
def test_latches_that_give_no_number_are_refused(value):
    with pytest.raises(SolveError, match=r"latches\.catch: got (nan|True) at t = 0 s, wanted a number"):
        run(sliding(Latch("catch", joint="rail", when=lambda t, state: value)))


@pytest.mark.parametrize("number", [1, np.float32(1.0), np.array([1.0]), np.array(1.0)])
def test_events_may_be_any_number(number):
    results = run(pushed((1.0, 0, 0)), events=(Event("x", lambda t, state: (t - 0.45) * number),))
    assert results.time[-1] == pytest.approx(0.45, abs=1e-12)


# What no step can follow


@pytest.mark.parametrize("name", slow_but(["radau", "dop853"], ["radau", "bdf", "dop853", "generalized-alpha"]))
def test_a_random_load_is_named(name):
    random = np.random.default_rng(1)

    def noise(t, state):
        return 1e3 * random.standard_normal(3)

    with pytest.raises(SolveError, match=r"loads\.push\.force is not a function of its arguments: asked again at t = "):
        run(pushed(noise), name)


class Sampled:
    """A controller that holds its force between samples in memory of its own."""

    def __init__(self):
        self.next, self.force = 0.0, np.zeros(3)

    def __call__(self, t, state):
        if t >= self.next:
            body = state.bodies["m"]
            self.force, self.next = -4.0 * body.position - 2.0 * body.velocity, self.next + 0.1
        return self.force


@pytest.mark.parametrize("formulation", ["velocity", slow("quaternion")])
@every_method
def test_a_controller_with_a_memory_is_named(name, formulation):
    with pytest.raises(SolveError, match=r"loads\.push\.force is not a function of its arguments: .* gave .* after .*"):
        run(pushed(Sampled()), name, formulation=formulation)


@every_method
def test_small_noise_is_named_at_once(name):
    """So small that no method with error control stumbles over it."""
    random = np.random.default_rng(1)
    model = pushed(lambda t, state: 1e-9 * random.standard_normal(3))
    with pytest.raises(
        SolveError, match=r"loads\.push\.force is not a function .* asked again at t = 0 s and"
    ) as caught:
        run(model, name)
    assert "Draw random numbers before the run" in str(caught.value)


def test_an_event_with_a_memory_is_named():
    calls = itertools.count()
    with pytest.raises(SolveError, match=r"event 'count' is not a function of its arguments: asked again at t = 0 s"):
        run(pushed((1.0, 0, 0)), events=(Event("count", lambda t, state: 1.0 + next(calls)),))


def test_functions_that_only_count_or_keep_what_they_computed_are_left_alone():
    """A memory that does not change the values is no harm."""
    kept, calls = {}, []

    def push(t, state):
        calls.append(t)
        return kept.setdefault(t, (np.sin(t), 0.0, 0.0))

    results = run(pushed(push))
    once = run(pushed(lambda t, state: (np.sin(t), 0.0, 0.0)))
    np.testing.assert_array_equal(results.bodies["m"].position, once.bodies["m"].position)
    assert len(calls) < 20 * results.statistics["evaluations"]


@pytest.mark.slow
def test_statics_inverse_dynamics_and_linear_models_ask_twice():
    """Each analysis that calls functions of users."""
    random = np.random.default_rng(1)

    def noise(t, state):
        return 1e-6 * random.standard_normal(3)

    wanted = pytest.raises(SolveError, match=r"loads\.push\.force is not a function of its arguments")
    sprung = pushed(noise)
    sprung.add(SpringDamper("s", SpringEnd(body="m"), SpringEnd(anchor=(0, 0, 0)), stiffness=1.0, free_length=0.0))
    with wanted:
        static(sprung)
    driven = pushed(noise)
    motion = {"x": lambda t: (1.0 + t, 1.0, 0.0), "y": lambda t: (0.0, 0.0, 0.0), "z": lambda t: (0.0, 0.0, 0.0)}
    driven.add(PositionDriver("pull", first=Place("ground"), second=Place("m"), **motion))
    with wanted:
        inverse(driven, duration=1.0, output_interval=0.1)
    turning = pushed(lambda t, state: Differentiated(1e-6 * random.standard_normal(3), {}))
    with wanted:
        linearize(turning)


@pytest.mark.parametrize("name", slow_but(["generalized-alpha"], ["radau", "bdf", "generalized-alpha"]))
def test_a_load_that_chatters_is_named(name):
    """Dry friction as a sign holds the body on a belt of 0.5 m/s, which no step of a smooth method can show."""

    def brake(t, state):
        return -20.0 * np.sign(state.bodies["m"].velocity - (0.5, 0.0, 0.0)) + (1.0, 0.0, 0.0)

    model = of_parts(PointMass("m", mass=1.0, velocity=(1.0, 0, 0)), Load("brake", body="m", force=brake))
    said = (
        r"loads\.brake\.force jumps with the state from \[.*, 20.0, 20.0\] to \[.*, -20.0, -20.0\], .*chatters.*events?"
    )
    with pytest.raises(SolveError, match=said) as caught:
        run(model, name)
    # it has the speed of the belt after v m / (20 - 1)
    assert caught.value.results.time[-1] == pytest.approx(0.5 / 19.0, abs=1e-3)


def test_an_endless_run_is_given_up_with_what_holds_it_up():
    """A vibration at 1e7 rad/s with the energy of the motion, over a day."""
    model = Model("endless")
    model.add(PointMass("m", mass=1.0, velocity=(1.0, 0, 0)))
    model.add(SpringDamper("s", SpringEnd(body="m"), SpringEnd(anchor=(0, 0, 0)), stiffness=1e14, free_length=0.0))
    asked = itertools.count()
    model.add(Load("count", body="m", force=lambda t, state: (0.0 * next(asked), 0.0, 0.0)))
    with pytest.raises(SolveError, match=r"makes no progress: the last 1000 steps .*m: velocity x") as caught:
        simulate(model, duration=86400.0, output_interval=3600.0)
    assert next(asked) < 100_000
    assert caught.value.results.status == "failed"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # in the length of the spring of the last state
def test_rk4_says_that_it_diverged_and_below_which_step_it_does_not():
    model = Model("stiff")
    model.add(PointMass("m", mass=1.0, position=(1.0, 0, 0)))
    model.add(SpringDamper("s", SpringEnd(body="m"), SpringEnd(anchor=(0, 0, 0)), stiffness=1e6, free_length=0.0))
    run = {"duration": 50.0, "output_interval": 1.0, "method": "rk", "tableau": "rk4"}
    limit = 2.0 * np.sqrt(2.0) / 1e3
    with pytest.raises(SolveError, match=rf"rk4 diverged, .* above the limit of {limit:.3g} s.*try a smaller step"):
        simulate(model, step=1.2 * limit, **run)
    assert simulate(model, step=0.9 * limit, **{**run, "duration": 1.0}).status == "complete"


# Messages of the equations themselves


@pytest.mark.parametrize("method", ["radau", "rk"])
def test_constraints_that_cannot_be_met_are_named_with_the_time(method):
    """Two struts to points 5 m apart, which become too short to meet."""

    def motion(t):
        return (3.0, 0.0, 0.0) if t < 0.25 else (1.0, 0.0, 0.0)

    model = Model("torn")
    model.add(PointMass("m", mass=1.0, position=(0, 3.0 * np.sin(np.arccos(2.5 / 3.0)), 0)))
    for name, x in (("left", -2.5), ("right", 2.5)):
        model.add(Ground(name, position=(x, 0, 0)))
        model.add(DistanceDriver(f"to_{name}", first=Place(name), second=Place("m"), motion=motion))
    wanted = r"stopped at t = 0\.2.* s: .*the constraints could not be met: drivers\.to_(left|right) \(distance\) stays"
    refuses(wanted, simulate, model, duration=0.5, output_interval=0.1, method=method, error=SolveError)


def test_a_singular_mass_is_named_with_the_time():
    model = Model("light")
    model.add(RigidBody("hub", mass=1.0, inertia=1.0))
    model.add(RigidBody("speck", mass=1.0, inertia=1e-50, center_of_mass=(1, 2, 3)))  # nothing turns about that line
    with pytest.raises(SolveError, match=r"t = 0 s: the mass matrix is singular at 'speck': a mass or an inertia"):
        simulate(model, duration=1.0)


def test_breakpoints_of_a_function_are_landed_on():
    """A force that jumps where it says so costs no rejected step, and is integrated exactly."""

    def push(t, state):
        return (1.0 if t < 0.3 else -2.0, 0.0, 0.0)

    push.breakpoints = (0.3,)
    results = run(pushed(push))
    assert results.statistics["rejected"] == 0
    assert results.bodies["m"].velocity[-1, 0] == pytest.approx(0.3 - 2.0 * 0.7, abs=1e-12)
