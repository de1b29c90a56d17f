"""Exact motion of a linear plant under sampled and continuous laws, from instant to instant, of many columns at once.

    x' = A x + B u,  y = C x + D u,  u held between the instants at which commands act

At one instant outputs are those before anything changes. Then the values of laws that only measure act, the laws that
are due give their commands in the order of their connections, and commands whose delay has passed act in the order in
which they were given. Source: docs/theory/control_loop.md, section 3.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, lcm
from typing import NamedTuple

import numpy as np

from femb.base.errors import ModelError
from femb.base.html import Brief
from femb.base.types import Complexes, Floats
from femb.base.values import absent
from femb.elements.control.linear_law import LinearLaw
from femb.linear.state_space import StateSpace
from femb.numerics.linear_systems import SAME, Flow

# Of the ratio of two periods, the largest denominator, and the most samples of a common period.
DENOMINATOR, MOST = 1000, 20_000
# Of a response without laws: smaller ones in their loop are not the difference of large numbers.
LEFT = 1e-3
# Of the mass: what a command changes of it at once, and is rounding.
AT_ONCE = 1e-9


class LoopInstant(NamedTuple):
    """The events of one time, s: the numbers of the laws that sample, and of those whose commands act."""

    time: float
    samples: tuple[int, ...]
    actions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LoopRun(Brief):
    """The motion of a loop: outputs (k, p) of the plant at instants time (k,), s, before anything changes there.

    commands (k, m) : the inputs of the plant that act after each instant. inputs (m,), outputs (p,) : names.
    """

    time: Floats
    values: Floats
    commands: Floats
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        """Whether it has an output or input of this name."""
        return name in self.outputs or name in self.inputs

    def __getitem__(self, name: str) -> Floats:
        """(k,) an output or input by name. Raises ModelError: an unknown one."""
        for names, values in ((self.outputs, self.values), (self.inputs, self.commands)):
            if name in names:
                return values[:, names.index(name)]
        raise ModelError(f"loop: no output or input {absent(name, (*self.outputs, *self.inputs))}")


class Tap(NamedTuple):
    """A loop opened at one law: of its commands u the part d (l.u) is read, and d w acts in its place.

    law : its number. direction (p,), weight (p,) : d and l. columns : of w, one for each sample of a common period.
    """

    law: int
    direction: Floats
    weight: Floats
    columns: slice


@dataclass(eq=False)
class Blocks:
    """The state of a loop, each part with the same number of columns.

    x : of the plant. held, states : of each law its commands that act, and its own state. waiting : commands that do
    not act yet, first those that do so first.
    """

    x: Floats
    held: list[Floats]
    states: list[Floats]
    waiting: list[list[Floats]]

    def stacked(self) -> Floats:
        """All of it, one part below the other."""
        return np.vstack([self.x, *self.held, *self.states, *(each for queue in self.waiting for each in queue)])


class SampledMotion:
    """The motion of ``plant`` under ``laws``, all of which have a period.

    Raises ModelError: an input of a law that neither the plant nor another law gives, a ring of laws.
    """

    def __init__(self, plant: StateSpace, laws: Sequence[LinearLaw]) -> None:
        self.plant, self.laws = plant, tuple(laws)
        self.flow = Flow(plant.A, plant.B)
        given = [name for law in self.laws for name in law.outputs]
        self.acts = [selection(plant.inputs, law.outputs) for law in self.laws]
        self.reads = [selection(law.inputs, plant.outputs) for law in self.laws]
        self.from_laws = [selection(law.inputs, given) * ~np.isin(law.inputs, plant.outputs)[:, None] for law in laws]
        # those whose values only other laws read
        self.measures = [not np.any(acts) for acts in self.acts]
        for law, known in zip(self.laws, self.from_laws, strict=True):
            for k, name in enumerate(law.inputs):
                if name not in plant.outputs and not np.any(known[k]):
                    raise ModelError(f"controllers.{law.name}: reads {name!r}, which neither the plant nor a law gives")
        self.order = self._order()

    def _order(self) -> list[int]:
        """The laws, each after those that it reads."""
        starts = np.cumsum([0, *(len(law.outputs) for law in self.laws)])
        before = [
            {j for j in range(len(self.laws)) if np.any(known[:, starts[j] : starts[j + 1]])}
            for known in self.from_laws
        ]
        order: list[int] = []
        while len(order) < len(self.laws):
            ready = [k for k in range(len(self.laws)) if k not in order and before[k] <= set(order)]
            if not ready:
                names = ", ".join(law.name for k, law in enumerate(self.laws) if k not in order)
                raise ModelError(f"controllers: {names} read each other in a ring")
            order.append(ready[0])
        return order

    # Time

    def common_period(self) -> float:
        """The period (s) after which all samples repeat. Raises ModelError: none, or one of too many samples."""
        first = min(period_of(law) for law in self.laws)
        ratios = [Fraction(period_of(law) / first).limit_denominator(DENOMINATOR) for law in self.laws]
        whole = Fraction(lcm(*(each.numerator for each in ratios)), 1)
        for law, ratio in zip(self.laws, ratios, strict=True):
            off = abs(float(ratio) * first / period_of(law) - 1.0) > SAME
            if off or sum(whole / each for each in ratios) > MOST:
                listed = ", ".join(f"{each.name} {period_of(each):.9g} s" for each in self.laws)
                raise ModelError(f"controllers: the periods have no common one of at most {MOST} samples: {listed}")
        return float(whole) * first

    def instants(self, end: float, start: float | None = None) -> list[LoopInstant]:
        """The instants from 0 to before ``end``, s, in order.

        start : s, that of the first samples; None for laws that have sampled for ever.
        """
        if not self.laws:
            return []
        entries: list[tuple[float, int, bool]] = []
        for k, law in enumerate(self.laws):
            period = period_of(law)
            close = SAME * period
            for offset, acts in ((law.phase, False), (law.phase + law.delay, True)):
                first = offset if start is not None else offset - period * floor(offset / period + SAME)
                count = max(int(np.ceil((end - first - close) / period)), 0)
                entries += [(max(first + j * period, 0.0), k, acts) for j in range(count)]
        entries.sort()
        close, result, n = SAME * min(map(period_of, self.laws)), [], 0
        while n < len(entries):
            last = n
            while last < len(entries) and entries[last][0] <= entries[n][0] + close:
                last += 1
            now, n = entries[n:last], last
            samples = [k for _, k, acts in now if not acts]
            actions = tuple(k for _, k, acts in now if acts)
            result.append(LoopInstant(now[0][0], tuple(k for k in self.order if k in samples), actions))
        return result

    def waiting(self) -> list[int]:
        """The number of commands of each law that wait at the start of a common period, before its first events."""
        return [_before(law.phase, law.delay, period_of(law)) for law in self.laws]

    # Motion

    def blocks(self, queues: Sequence[int], more: int = 0) -> Blocks:
        """All parts as the rows of a unit matrix, with so many ``more`` columns of zeros after it."""
        size = sum(self._sizes(queues))
        return self._split(np.hstack([np.eye(size), np.zeros((size, more))]), queues)

    def start(self) -> Blocks:
        """All parts zero, one column, and no command that waits."""
        none = [0] * len(self.laws)
        return self._split(np.zeros((sum(self._sizes(none)), 1)), none)

    def _sizes(self, queues: Sequence[int]) -> list[int]:
        widths = [len(law.outputs) for law in self.laws]
        waiting = [width for width, count in zip(widths, queues, strict=True) for _ in range(count)]
        return [len(self.plant.states), *widths, *(len(law.A) for law in self.laws), *waiting]

    def _split(self, whole: Floats, queues: Sequence[int]) -> Blocks:
        x, *rest = (each.copy() for each in np.split(whole, np.cumsum(self._sizes(queues))[:-1]))
        n = len(self.laws)
        parts = iter(rest[2 * n :])
        queued = [[next(parts) for _ in range(count)] for count in queues]
        return Blocks(x, rest[:n], rest[n : 2 * n], queued)

    def commands(self, blocks: Blocks) -> Floats:
        """The commands of the laws, of all inputs of the plant (m, columns)."""
        total = np.zeros((len(self.plant.inputs), blocks.x.shape[1]))
        for acts, held in zip(self.acts, blocks.held, strict=True):
            total += acts @ held
        return total

    def outputs(self, blocks: Blocks, added: Floats | float = 0.0) -> Floats:
        """The outputs of the plant (p, columns)."""
        return self.plant.C @ blocks.x + self.plant.D @ (self.commands(blocks) + added)

    def begin(self, blocks: Blocks, added: Floats | float = 0.0) -> None:
        """Begin laws as they start for what they read there: their states, and the values that only other laws read."""
        y = self.outputs(blocks, added)
        for k in self.order:
            law = self.laws[k]
            read = self.reads[k] @ y + self.from_laws[k] @ np.vstack(blocks.held)
            assert law.start_state is not None
            assert law.start_value is not None
            blocks.states[k] = law.start_state @ read
            if self.measures[k]:
                blocks.held[k] = law.start_value @ read

    def advance(self, blocks: Blocks, dt: float, added: Floats | float = 0.0) -> None:
        """The motion of an interval dt, s. added (m, columns) : inputs beside the commands, constant in it."""
        if dt > 0.0:
            P, Q = self.flow(dt)
            blocks.x = P @ blocks.x + Q @ (self.commands(blocks) + added)

    def happen(
        self,
        blocks: Blocks,
        at: LoopInstant,
        added: Floats | float = 0.0,
        errors: Sequence[Floats] | None = None,
        tap: Tap | None = None,
        count: int = 0,
    ) -> Floats | None:
        """The changes at an instant; gives what a tap reads there, (columns,).

        errors : of what each law reads (m, columns). tap, count : where the loop is opened, and the number of the
        sample there.
        """
        y, taken = self.outputs(blocks, added), None
        for k in at.actions:
            if self.measures[k] and blocks.waiting[k]:
                blocks.held[k] = blocks.waiting[k].pop(0)
        for k in at.samples:
            law = self.laws[k]
            read = self.reads[k] @ y + self.from_laws[k] @ np.vstack(blocks.held)
            read = read if errors is None else read + errors[k]
            u = law.C @ blocks.states[k] + law.D @ read
            if tap is not None and tap.law == k:
                taken = tap.weight @ u
                u = u - np.outer(tap.direction, taken)
                u[:, tap.columns.start + count] += tap.direction
            blocks.states[k] = law.A @ blocks.states[k] + law.B @ read
            if self.measures[k] and law.delay <= SAME * period_of(law):
                blocks.held[k] = u
            else:
                blocks.waiting[k].append(u)
        for k in at.actions:
            if not self.measures[k] and blocks.waiting[k]:
                blocks.held[k] = blocks.waiting[k].pop(0)
        return taken

    def over(
        self,
        blocks: Blocks,
        instants: Sequence[LoopInstant],
        end: float,
        added: Floats | float = 0.0,
        errors: Sequence[Floats] | None = None,
        tap: Tap | None = None,
    ) -> list[Floats]:
        """The motion from 0 to ``end``, s, through its instants; gives what a tap reads at its samples."""
        t = 0.0
        taken: list[Floats] = []
        for at in instants:
            self.advance(blocks, at.time - t, added)
            t = at.time
            found = self.happen(blocks, at, added, errors, tap, len(taken))
            if found is not None:
                taken.append(found)
        self.advance(blocks, end - t, added)
        return taken


def period_of(law: LinearLaw) -> float:
    """The period (s) of a sampled law."""
    assert law.period is not None
    return law.period


def _before(phase: float, delay: float, period: float) -> int:
    """The number of samples before time 0 whose commands act at 0 or later, of a law that has always sampled."""
    first = phase - period * floor(phase / period + SAME)
    return floor((first + delay) / period + SAME)


def selection(rows: Sequence[str], columns: Sequence[str]) -> Floats:
    """(r, c) one where the names are the same, else zero."""
    found = [[float(row == column) for column in columns] for row in rows]
    return np.array(found, dtype=float).reshape(len(rows), len(columns))


# A sinusoid that enters a plant continuously, beside sampled laws.


def fundamental(
    plant: StateSpace, laws: Sequence[LinearLaw], omega: float, entering: Complexes, errors: Sequence[int]
) -> Complexes:
    """(p,) The part at omega (rad/s) of outputs of a ``plant`` in the loop of sampled laws, by inputs (m,) times e^(i
    omega t); the other parts are at frequencies that differ by multiples of that of the common period.

    With c' = -omega s, s' = omega c, which enter, and a' = -omega b + y, b' = omega a the motion over the common period
    T is a matrix; for c = 1, s = -i the state is multiplied by e^(i omega T), and (a + i b) e^(-i omega T)/T is the
    part. Source: docs/theory/control_loop.md, equation (6).
    """
    n, m = plant.B.shape
    size = n + 2 + 2 * len(errors)
    A, B, C = np.zeros((size, size)), np.zeros((size, m)), np.zeros((len(plant.C), size))
    # e^(i omega t) = c, i e^(i omega t) = -s
    parts = np.column_stack([entering.real, -entering.imag])
    A[:n, :n], A[:n, n : n + 2] = plant.A, plant.B @ parts
    C[:, :n], C[:, n : n + 2] = plant.C, plant.D @ parts
    B[:n] = plant.B
    A[n, n + 1], A[n + 1, n] = -omega, omega
    a = np.arange(n + 2, size, 2)
    A[a, a + 1], A[a + 1, a] = -omega, omega
    A[a, : n + 2], B[a] = C[errors, : n + 2], plant.D[errors]
    states = (*plant.states, "c", "s", *(f"{word}{k}" for k in errors for word in "ab"))
    motion = SampledMotion(replace(plant, A=A, B=B, C=C, states=states, truncation=None, form=None), laws)
    end = motion.common_period()
    blocks = motion.blocks(motion.waiting())
    motion.over(blocks, motion.instants(end), end)
    whole = blocks.stacked()
    own = np.delete(np.arange(len(whole)), np.arange(n, size))
    first, turn = np.array([1.0, -1.0j]), np.exp(1j * omega * end)
    state = np.zeros(len(whole), dtype=complex)
    state[n : n + 2] = first
    state[own] = np.linalg.solve(
        turn * np.eye(len(own)) - whole[np.ix_(own, own)], whole[np.ix_(own, [n, n + 1])] @ first
    )
    return np.asarray((whole[a] @ state + 1j * (whole[a + 1] @ state)) / (turn * end))


@dataclass(eq=False)
class Fundamental:
    """The part of outputs of a plant in the loop of sampled laws at the frequency of inputs, at many frequencies.

    With x = z + X e^(i omega t), X = (i omega - A)^-1 B u, laws read what z gives and G u e^(i omega t) of their
    instants. The motion of z over a period is one matrix for all frequencies; where the commands have the part U, that
    of outputs is G (u + U). Beside poles of the plant, and where little is left of G u, as in ``fundamental``.
    """

    plant: StateSpace
    laws: Sequence[LinearLaw]
    rows: Sequence[int]

    def __post_init__(self) -> None:
        motion, p = SampledMotion(self.plant, self.laws), len(self.plant.outputs)
        self.end = motion.common_period()
        instants = motion.instants(self.end)
        self.read = np.array([at.time for at in instants if at.samples])
        blocks = motion.blocks(motion.waiting(), more=len(self.read) * p)
        self.size = blocks.x.shape[1] - len(self.read) * p
        held, t, k = [motion.commands(blocks)], 0.0, 0
        for at in instants:
            motion.advance(blocks, at.time - t)
            place = np.zeros((p, blocks.x.shape[1]))
            if at.samples:
                place[:, self.size + k * p : self.size + (k + 1) * p], k = np.eye(p), k + 1
            motion.happen(blocks, at, 0.0, [reads @ place for reads in motion.reads])
            held.append(motion.commands(blocks))
            t = at.time
        motion.advance(blocks, self.end - t)
        self.whole, self.held = blocks.stacked(), np.array(held)
        self.edges = np.array([0.0, *(at.time for at in instants), self.end])

    def __call__(self, omega: float, entering: Complexes) -> Complexes:
        """(rows,) complex: of inputs (m,) times e^(i omega t); omega in rad/s."""
        of, turn = self.plant, np.exp(1j * omega * self.end)
        shifted = 1j * omega * np.eye(len(of.A)) - of.A
        try:
            G = of.D + of.C @ np.linalg.solve(shifted, of.B.astype(complex))
            seen = np.outer(np.exp(1j * omega * self.read), G @ entering).ravel()
            begun = turn * np.eye(self.size) - self.whole[:, : self.size]
            state = np.concatenate([np.linalg.solve(begun, self.whole[:, self.size :] @ seen), seen])
        except np.linalg.LinAlgError:
            return fundamental(of, self.laws, omega, entering, self.rows)
        # the parts of the intervals between instants
        middles, widths = 0.5 * (self.edges[1:] + self.edges[:-1]), np.diff(self.edges)
        shares = np.exp(-1j * omega * middles) * np.sinc(omega * widths / (2.0 * np.pi)) * widths / self.end
        found = G[self.rows] @ (entering + shares @ (self.held @ state))
        terms = np.abs(G[self.rows]) @ np.abs(entering)
        if not np.all((np.abs(found) >= LEFT * terms) | (terms == 0.0)):
            return fundamental(of, self.laws, omega, entering, self.rows)
        return np.asarray(found)


# Parts of linear plants, and plants with the states of continuous laws. Source: docs/theory/control_loop.md.


def part_of(plant: StateSpace, inputs: Sequence[str], outputs: Sequence[str]) -> StateSpace:
    """The plant with some of its inputs and outputs, by name."""
    columns = [plant.index("inputs", name) for name in inputs]
    rows = [plant.index("outputs", name) for name in outputs]
    found = replace(
        plant, B=plant.B[:, columns], C=plant.C[rows], D=plant.D[np.ix_(rows, columns)], inputs=tuple(inputs),
        outputs=tuple(outputs), truncation=None,
    )  # fmt: skip
    own = plant.known is not None and plant.known.B is plant.B and plant.known.C is plant.C
    return replace(found, form=plant.known.part(found, columns, rows)) if own and plant.known else found


def with_continuous(
    plant: StateSpace,
    laws: Sequence[LinearLaw],
    opened: tuple[LinearLaw, Floats, Floats] | None = None,
    errors: tuple[str, ...] = (),
) -> StateSpace:
    """The plant with the states of continuous laws.

    Its outputs are also what laws give that is no input of the plant, as filters do. opened : a law, d and l: of its
    commands u the part d (l.u) is the last output, and d w, of the last input w, acts in its place. errors : names of
    what laws read, for which NAME error is an input after those of the plant.

    Raises ModelError: an algebraic loop.
    """
    if not laws:
        return plant
    n, m, p = len(plant.states), len(plant.inputs), len(plant.outputs)
    given = [name for law in laws for name in law.outputs]
    read = [name for law in laws for name in law.inputs]
    states = [name for law in laws for name in law.states]
    e, w = len(errors), int(opened is not None)
    A, B, C, D = (_blocks([getattr(law, word) for law in laws]) for word in "ABCD")
    # y = (what laws read) of (x, states, commands, inputs, errors, w), by rows
    of_plant = selection(read, plant.outputs)
    of_laws = selection(read, given) * ~np.isin(read, plant.outputs)[:, None]
    acts = selection(plant.inputs, given)
    take, give = np.zeros((len(given), 0)), np.zeros((0, len(given)))
    keep = np.eye(len(given))
    if opened is not None:
        start = 0
        for law in laws:
            if law is opened[0]:
                d, weight = np.zeros(len(given)), np.zeros(len(given))
                d[start : start + len(law.outputs)], weight[start : start + len(law.outputs)] = opened[1:]
                take, give, keep = d[:, None], weight[None], keep - np.outer(d, weight)
            start += len(law.outputs)
    # u = (I - D F)^-1 (C s + D (read of x, inputs, errors)), with what is fed through beside states
    through = of_plant @ plant.D @ acts + of_laws
    ring = D @ through @ keep
    # positions follow at once by the static share of modes that were left out alone: no mass depends on the law
    at_once = D @ (through * np.array([plant.units.get(name) not in ("m", "rad") for name in read])[:, None]) @ keep
    # by a part of the mass as small as this it is rounding, as of plants at values of their parameters
    if np.max(np.abs(np.linalg.matrix_power(at_once, max(len(ring), 1))), initial=0.0) > AT_ONCE ** max(len(ring), 1):
        names = ", ".join(law.name for law in laws)
        raise ModelError(
            f"controllers: {names}: what they set changes at once what they read, as accelerations do: read these "
            "through a filter, or sample"
        )
    free = np.linalg.inv(np.eye(len(given)) - ring)
    s, columns = len(states), n + len(states) + m + e + w
    own = np.eye(columns)
    x, xc, u, err, wt = np.split(own, np.cumsum([n, s, m, e]))
    reads0 = of_plant @ (plant.C @ x + plant.D @ (u + acts @ take @ wt)) + of_laws @ take @ wt
    reads0 = reads0 + selection(read, errors) @ err
    commands = free @ (C @ xc + D @ reads0)  # before the opening
    acting = keep @ commands + take @ wt
    total = u + acts @ acting
    reads = of_plant @ (plant.C @ x + plant.D @ total) + of_laws @ acting + selection(read, errors) @ err
    rates = np.vstack([plant.A @ x + plant.B @ total, A @ xc + B @ reads])
    filtered = [k for k, name in enumerate(given) if name not in plant.inputs]
    values = np.vstack([plant.C @ x + plant.D @ total, acting[filtered], give @ commands])
    inputs = (*plant.inputs, *(f"{name} error" for name in errors), *(("w",) if w else ()))
    outputs = (*plant.outputs, *(given[k] for k in filtered), *(("-L w",) if w else ()))
    k = n + s
    assert values.shape[0] == p + len(filtered) + w
    return StateSpace(
        rates[:, :k], rates[:, k:], values[:, :k], values[:, k:], (*plant.states, *states), inputs, outputs,
        units=plant.units,
    )  # fmt: skip


def _blocks(parts: Sequence[Floats]) -> Floats:
    """The block diagonal matrix of these parts; scipy's own takes longer than all the rest of a small loop."""
    found = np.zeros(np.sum([part.shape for part in parts], axis=0))
    at = np.zeros(2, dtype=int)
    for part in parts:
        end = at + part.shape
        found[at[0] : end[0], at[1] : end[1]], at = part, end
    return found


def merged(instants: Sequence[LoopInstant], times: Floats) -> list[LoopInstant]:
    """Instants with those times at which nothing happens, and which are none of them."""
    known = np.array([at.time for at in instants])
    result = list(instants)
    for t in times.tolist():
        close: list[int] = np.flatnonzero(np.abs(known - t) <= 1e-9 * max(abs(t), 1e-9)).tolist()
        if close:
            result[close[0]] = result[close[0]]._replace(time=t)
        else:
            result.append(LoopInstant(t, (), ()))
    return sorted(result, key=lambda at: at.time)
