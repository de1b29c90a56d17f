"""Evaluation of the terms of batches: at states, in arrays for compiled steps, in parts, over threads."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Protocol, Self, TypeAlias, TypeVar
from weakref import ref

import numpy as np

from femb.base.errors import FembError
from femb.base.types import Floats, Ints
from femb.layout.element import Batch, BatchError
from femb.layout.private_blocks import PrivateBlocks
from femb.layout.terms import Energy, Force, ForcePart, MassMatrix, Tangent, every
from femb.numerics.compiler.bound_calls import Bound, BoundSequence
from femb.numerics.element_ranges import in_ranges

Call: TypeAlias = Callable[[], object]
Factor: TypeAlias = Callable[[ForcePart], float]
T = TypeVar("T", Force, MassMatrix, Tangent, Energy)


class BlockStorage(Protocol):
    """The storage of matrices, block data of a ``size``, in which the blocks of elements are looked up."""

    size: int

    def offsets(self, starts: Ints) -> tuple[Ints, Ints]:
        """Offset and stride (n, g, g) of the blocks of groups that begin at ``starts`` (n, g), negative if fixed."""


class Evaluation:
    """The terms of batches, evaluated together.

    States are u (s, n_u), q (s, n_q), v and a (s, n_v); matrices are block data (s, size) of ``blocks``. A method that
    ends in ``_calls`` gives functions without arguments, kernels bound to their arrays where there are kernels, that
    do the same for the entries which the arrays have at each call. Raises what the terms raise, as a FoldedError.
    """

    def __init__(self, batches: Sequence[Batch], blocks: BlockStorage) -> None:
        self.batches, self.blocks = list(batches), blocks
        # the blocks of starts, by these arrays, as long as they live: batches share theirs, some make them anew
        self._places: dict[int, tuple[ref[Ints], tuple[Ints, Ints]]] = {}

    def of(self, batches: Iterable[Batch]) -> Self:
        """The evaluation of other batches, in the same storage of matrices."""
        other = type(self)(list(batches), self.blocks)
        other._places = self._places
        return other

    @cached_property
    def forces(self) -> list[list[Force]]:
        """The forces of each batch."""
        return [_named(batch, batch.forces()) for batch in self.batches]

    @cached_property
    def masses(self) -> list[list[MassMatrix]]:
        """The masses of each batch."""
        return [_named(batch, batch.masses()) for batch in self.batches]

    @cached_property
    def tangents(self) -> list[list[Tangent]]:
        """The tangents of each batch."""
        return [_named(batch, batch.tangents()) for batch in self.batches]

    @cached_property
    def energies(self) -> list[list[Energy]]:
        """The energies of each batch."""
        return [_named(batch, batch.energies()) for batch in self.batches]

    def _blocks_of(self, starts: Ints) -> tuple[Ints, Ints]:
        places, key = self._places, id(starts)
        if key not in places:
            places[key] = ref(starts, lambda _: places.pop(key, None)), self.blocks.offsets(starts)
        return places[key][1]

    # Forces

    def force_calls(
        self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats, factor: Factor = every
    ) -> list[Call]:
        """Calls that add the residual to out (s, n_v); factor : of each part of the forces, all by default."""
        arrays = {"u": u, "q": q, "v": v, "a": a}
        calls: list[Call] = []
        for of_batch in self.forces:
            for force in of_batch:
                calls += _force_calls(force, arrays, out, factor)
        return calls

    def add_residual(self, u: Floats, q: Floats, v: Floats, a: Floats, out: Floats, factor: Factor = every) -> None:
        """out (s, n_v) += M a + h + f - f_applied, with the factors of parts of the forces, one by default."""
        for call in self.force_calls(u, q, v, a, out, factor):
            call()

    def residual(self, u: Floats, q: Floats, v: Floats, a: Floats) -> Floats:
        """M a + h + f - f_applied (s, n_v)."""
        out = np.zeros(v.shape)
        self.add_residual(u, q, v, a, out)
        return out

    # Matrices

    def mass_calls(self, q: Floats, mass: Floats) -> list[Call]:
        """Calls that add the mass to block data (s, size)."""
        return [self._mass_call(term, q, mass) for of_batch in self.masses for term in of_batch]

    def _mass_call(self, term: MassMatrix, q: Floats, mass: Floats) -> Call:
        return Bound(term.kernel, *term.kept, *self._blocks_of(term.starts), q, mass, check=term.check)

    def add_masses(self, q: Floats, mass: Floats) -> None:
        """Add the mass to block data (s, size)."""
        for call in self.mass_calls(q, mass):
            call()

    def step_calls(
        self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats
    ) -> list[Call]:
        """Calls that add the matrices of Newton's iteration in a step to block data (s, size)."""
        arrays, outputs = _arrays(u, q, v), {"m": mass, "d": damping, "k": stiffness}
        calls: list[Call] = []
        for masses, tangents in zip(self.masses, self.tangents, strict=True):
            of_step = [term for term in tangents if term.step]
            if not any("m" in term.gives for term in of_step):
                calls += [self._mass_call(term, q, mass) for term in masses]
            calls += [self._tangent_call(term, arrays, outputs) for term in of_step]
        return calls

    def add_step_matrices(
        self, u: Floats, q: Floats, v: Floats, mass: Floats, damping: Floats, stiffness: Floats
    ) -> None:
        """Add the mass and the derivatives of Newton's iteration in a step to block data (s, size)."""
        for call in self.step_calls(u, q, v, mass, damping, stiffness):
            call()

    def tangent_calls(
        self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats
    ) -> list[Call]:
        """Calls that add the exact d(residual)/dv and d(residual)/dq H to block data (s, size), less what is of low
        rank."""
        arrays, outputs = {"u": u, "q": q, "v": v, "a": a}, {"d": damping, "k": stiffness}
        terms = (term for of_batch in self.tangents for term in of_batch if term.exact)
        return [self._tangent_call(term, arrays, outputs) for term in terms]

    def add_tangents(self, u: Floats, q: Floats, v: Floats, a: Floats, damping: Floats, stiffness: Floats) -> None:
        """Add what ``tangent_calls`` do."""
        for call in self.tangent_calls(u, q, v, a, damping, stiffness):
            call()

    def tangent(self, u: Floats, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
        """``add_tangents`` at one state: block data (size,) each."""
        data = np.zeros((2, 1, self.blocks.size))
        self.add_tangents(u[None], q[None], v[None], a[None], *data)
        return data[0, 0], data[1, 0]

    def _tangent_call(
        self, term: Tangent, arrays: dict[str, Floats], outputs: dict[str, Floats],
        blocks: tuple[Ints, Ints] | None = None,
    ) -> Call:  # fmt: skip
        read, matrices = [arrays[name] for name in term.reads], [outputs[name] for name in term.gives]
        args = *term.kept, *(blocks or self._blocks_of(term.starts)), *read, *matrices
        return BoundSequence(term.kernel(*args)) if term.composed else Bound(term.kernel, *args, check=term.check)

    def element_masses(self, q: Floats) -> list[tuple[Ints, Floats]]:
        """The mass matrices of the elements, each on its own, at one state q (n_q,); their sum is the mass.

        Groups of e elements alike: places (e, g) of their velocities, negative where these are held, and M (e, g, g).
        """
        found: list[tuple[Ints, Floats]] = []
        for of_batch in self.masses:
            for term in of_batch:
                private = PrivateBlocks(term.starts, term.sizes)
                out = np.zeros((1, private.count * private.n**2))
                Bound(term.kernel, *term.kept, private.offset, private.stride, q[None], out, check=term.check)()
                found.append((private.indices, private.matrices(out[0])))
        return found

    def element_tangents(
        self, u: Floats, q: Floats, v: Floats, a: Floats, sizes: Callable[[Ints], tuple[int, ...]]
    ) -> list[tuple[Ints, Floats, Floats]]:
        """Elements, as ``element_masses``, of the exact derivatives at one state: places (e, g), C and K (e, g, g).

        sizes : of the groups that begin at starts (e, groups), at least.
        """
        found, arrays = [], {"u": u[None], "q": q[None], "v": v[None], "a": a[None]}
        for of_batch in self.tangents:
            for term in (each for each in of_batch if each.exact):
                private = PrivateBlocks(term.starts, sizes(term.starts))
                damping, stiffness = out = np.zeros((2, 1, private.size))
                self._tangent_call(term, arrays, dict(zip("dk", out, strict=True)), (private.offset, private.stride))()
                found.append((private.indices, private.matrices(damping[0]), private.matrices(stiffness[0])))
        return found

    def element_forces(self, u: Floats, q: Floats, v: Floats, a: Floats) -> list[tuple[Ints, Floats]] | None:
        """Places (e, g) and residuals (e, g) of the elements at one state; None where elements are not told apart."""
        found, read = [], {"u": u[None], "q": q[None], "v": v[None], "a": a[None]}
        for force in (each for of_batch in self.forces for each in of_batch):
            if (ranges := force.ranges) is None:
                return None
            rows = np.zeros((len(ranges.starts), 1, sum(ranges.sizes)))
            arguments = *(read[name] for name in force.reads), *([np.ones(len(force.parts))] if force.parts else [])
            failed = Bound(force.kernel, *ranges.kept(slice(0, len(rows))), *arguments, np.zeros(v[None].shape), rows)()
            if force.check is not None:
                force.check(failed)
            found.append((PrivateBlocks(ranges.starts, ranges.sizes).indices, rows[:, 0]))
        return found

    # Energies

    def add_energies(self, u: Floats | None, q: Floats, v: Floats, out: Floats) -> None:
        """out (s, 8) += kinetic and potential energy, linear momentum, angular momentum about the origin.

        Without u those of potentials that depend on inputs are left out: they have no momentum.
        """
        arrays: dict[str, Any] = {"u": u, "q": q, "v": v}
        for of_batch in self.energies:
            for term in of_batch:
                if u is None and "u" in term.reads:
                    continue
                result = term.kernel(*term.kept, *(arrays[name] for name in term.reads), out)
                if term.check is not None:
                    term.check(result)


def _named(batch: Batch, terms: list[T]) -> list[T]:
    """The terms of a batch, of which Python functions name its items in what they raise."""
    return [
        each
        if hasattr(each.kernel, "address_for") or getattr(each, "composed", False) or getattr(each, "ranges", None)
        else replace(each, kernel=partial(_called, batch, each.kernel))
        for each in terms
    ]


def _called(batch: Batch, function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function of a batch. Raises BatchError with its items for an exception other than femb's own."""
    try:
        return function(*args)
    except FembError:
        raise
    except Exception as error:
        what = getattr(function, "__name__", type(function).__name__)
        raise BatchError(f"{batch.of_items}: {what} raised {type(error).__name__}: {error}") from error


def _arrays(u: Floats, q: Floats, v: Floats) -> dict[str, Floats]:
    """Arrays by name of a state whose accelerations are zero."""
    return {"u": u, "q": q, "v": v, "a": np.zeros(v.shape)}


def _force_calls(force: Force, arrays: dict[str, Floats], out: Floats, factor: Factor) -> list[Call]:
    """The call that adds the parts of a force with these factors; none where all are zero."""
    factors = [factor(part) for part in force.all_parts]
    if not any(factors):
        return []
    wanted: list[Any] = [np.array(factors)] if force.parts else []
    read = [arrays[name] for name in force.reads]
    if force.composed:
        calls: list[Call] = force.kernel(*force.kept, *read, *wanted, out)
        return calls
    if force.ranges is None:
        return [Bound(force.kernel, *force.kept, *read, *wanted, out, check=force.check)]
    ranges = force.ranges

    def of_range(elements: slice, rows: Floats) -> Bound:
        return Bound(force.kernel, *ranges.kept(elements), *read, *wanted, out, rows)

    return [in_ranges(of_range, ranges.starts, ranges.sizes, out, ranges.multiple, force.check)]
