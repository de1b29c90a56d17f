"""The method of a run by its model, for ``method = "auto"``: facts, a rule, and a sentence that says why.

- Sampled controllers and other clocks: radau, whose steps end at the samples and keep their length and matrices there;
  nothing is damped, since what is above half a rate comes back through the samples.
- Parts that touch or switch (end stops, friction, springs by functions): radau, which is implicit and restarts there.
- Rigid bodies: rk, if the output resolves the fastest vibration and decay at the start; else radau.
- Flexible members: radau. Where their vibrations are undamped and the fastest are above the highest frequency that
  1000 output times, or those of the run if these are closer, can show, they are damped: ``filter`` is that frequency.
- In momenta (``formulation = "hamiltonian"``) only explicit methods apply: rk.

The formulation is left as it is given: it does not change the motion, and says what is a coordinate.
"""

from dataclasses import dataclass, replace
from math import inf, pi
from typing import TYPE_CHECKING

from femb.base.options import AUTO, METHODS_OF, SHORT_RUN, SHORTEST_TIME, Run
from femb.run.memory import with_interval

if TYPE_CHECKING:
    from femb.system.system import System

# Product of the interval of output and a rate (rad/s or 1/s) up to which the output resolves it.
RESOLVED = 2.0
# Output times by which a run is judged that has fewer.
OUTPUTS = 1000.0
# Steps of radau in a period of the fastest vibration that is followed, at the tolerance STEP_RTOL: by measurement,
# behind latches, within a factor of 2.5. Their length goes with the fourth root of the tolerance: the error estimate is
# of order 3.
STEPS, LEAST_STEPS, STEP_RTOL = 17.0, 8.0, 1e-6


@dataclass(frozen=True)
class ModelFacts:
    """The facts that the choice depends on.

    flexible : whether beams or bodies deform. undamped : whether one of them has no damping. switches : whether a
    stiffness may change abruptly. frequency, decay : the largest natural frequency (Hz) and the largest rate of a
    damper (1/s) at the start, functions of users with them. latches : whether joints latch during the run. period : the
    shortest one (s) of clocks; infinity without any.
    """

    flexible: bool
    undamped: bool
    switches: bool
    frequency: float
    decay: float
    latches: bool = False
    period: float = inf


def facts_of(system: "System") -> ModelFacts:
    """The facts of a model in its start configuration."""
    from femb.steppers.diagnosis import largest_decay, largest_frequency, rates_of_functions

    frequency, decay = rates_of_functions(system)
    return ModelFacts(
        flexible=bool(
            len(system.layout.internal) > len(system.layout.first_order_names)
            or system.layout.beams
            or system.layout.shells
        ),
        undamped=any(batch.undamped for batch in system.batches),
        switches=bool(system.switches or system.has_gaps),
        frequency=max(largest_frequency(system), frequency) / (2.0 * pi),
        decay=max(largest_decay(system), decay),
        latches=bool(system.layout.latches),
        period=min((each.period for each in system.layout.updates if each.period is not None), default=inf),
    )


def with_defaults(system: "System", run: Run) -> tuple[Run, str, str]:
    """The run with what model and duration decide where the user did not: its method and its output times, with a line
    on each, empty for what is given, and the shortest time of interest."""
    run, reason = with_method(system, run)
    if run.atol.time is None and run.accuracy is None:
        part = min(1.0, max(system.layout.length, run.duration / SHORT_RUN))
        run = replace(run, atol=replace(run.atol, time=part * SHORTEST_TIME))
    run, of_output = with_interval(system, run)
    return run, reason, of_output


def with_method(system: "System", run: Run) -> tuple[Run, str]:
    """The run with a method, and the reason for it; the run itself and an empty text where its method is given."""
    if run.method != AUTO:
        return run, ""
    methods = METHODS_OF.get(run.formulation)
    if methods is not None:
        return replace(run, method=methods[0]), f"{methods[0]}: the formulation {run.formulation!r} is explicit"
    if run.accuracy is not None:
        return replace(run, method="radau"), "radau: L-stable, for the accuracy of positions; what none shows is damped"
    method, visible, reason = choose(facts_of(system), run)
    if run.filter is not None:
        words = f"; vibrations above {run.filter:.4g} Hz are damped, not followed, as run.filter says"
        return replace(run, method="radau"), f"radau: a filter takes an implicit method{words}"
    return replace(run, method=method, filter=visible), f"{method}: {reason}"


def choose(facts: ModelFacts, run: Run) -> tuple[str, float | None, str]:
    """Method, filter (Hz; None for none) and reason for a model with these facts."""
    interval = min(run.output_interval or run.duration, run.duration / OUTPUTS)
    shown = 0.5 / interval
    fastest = max(2.0 * pi * facts.frequency, facts.decay)
    if facts.period < inf:
        ends = f"whose samples are the ends of steps: every {facts.period:.6g} s or less"
        return "radau", None, f"controllers or sensors with a period, {ends}"
    if facts.flexible:
        reason = f"flexible members, with vibrations of up to {facts.frequency:.3g} Hz"
        if facts.undamped and facts.frequency > shown and not facts.switches:
            impact = ", as is what a latch excites" if facts.latches else ""
            return "radau", shown, (
                f"{reason} without damping; those above {shown:.4g} Hz, which {interval:.3g} s between outputs cannot "
                f'show, are damped, not followed{impact} (to follow them: method = "radau")'
            )  # fmt: skip
        return "radau", None, reason
    if facts.switches:
        return "radau", None, "rigid bodies, with parts that touch or switch: their stiffness may change at once"
    if fastest * interval > RESOLVED:
        what = (
            f"a vibration of {facts.frequency:.3g} Hz" if fastest > facts.decay else f"a decay of {facts.decay:.3g}/s"
        )
        return "radau", None, f"rigid bodies, with {what}, too fast for explicit steps"
    return "rk", None, "rigid bodies, and no spring, damper or control that an explicit step has to follow"


def steps_line(system: "System", run: Run, asked: Run) -> str:
    """The steps that follow from clocks, or from what latches excite, and a filter that takes fewer; else empty, since
    those of smooth motions are not known before. run : with its method and filter; asked : as the user gave it."""
    period = min((each.period for each in system.layout.updates if each.period is not None), default=inf)
    if run.duration > period:
        return f"steps {run.duration / period:,.0f} or more: one for each sample of {period:.6g} s"
    if run.method != "radau" or run.filter is None or not system.layout.latches:
        return ""

    def steps(frequency: float) -> float:
        each = max(LEAST_STEPS, STEPS * (STEP_RTOL / run.rtol) ** 0.25)
        return float(f"{each * frequency * run.duration:.2g}")

    line = f"steps some {steps(run.filter):,.0f} expected: what latches excite is followed up to {run.filter:.4g} Hz"
    interval = asked.output_interval
    if not interval or (shown := 0.5 / interval) >= run.filter:
        return line
    highest = f"run.filter = {shown:.4g}, the highest that {interval:.3g} s between outputs show"
    return f"{line}; {highest}, gives {steps(shown):,.0f}"
