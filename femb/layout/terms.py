"""Terms: what the elements of one class add to the equations, declared once.

A batch declares its forces, masses, tangents and energies; ``femb.layout.evaluation`` evaluates them, at one state or
at many, over threads, bound to arrays for steps in compiled code, in parts, and by account. A term has a kernel, or a
Python function of the same arguments, in this order: the arrays that it keeps; the blocks of a matrix; what it reads of
the inputs u (s, n_u), coordinates q (s, n_q), velocities v and accelerations a (s, n_v) of s states; the factors of its
parts; and the arrays to which it adds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from femb.base.types import Ints


@dataclass(frozen=True)
class ForcePart:
    """A part of a force that is evaluated alone.

    kind : "inertia", "elastic", or "work" for what has no potential. account : of the budget that has the work; one
    that begins with "_" follows the account of the items, and an empty one is that of the items.
    """

    kind: str
    account: str = ""

    INERTIA: ClassVar["ForcePart"]
    ELASTIC: ClassVar["ForcePart"]
    WORK: ClassVar["ForcePart"]

    def account_of(self, own: str) -> str:
        """The account of the work; own : that of the items."""
        return own + self.account if self.account.startswith("_") or not self.account else self.account


ForcePart.INERTIA, ForcePart.ELASTIC, ForcePart.WORK = ForcePart("inertia"), ForcePart("elastic"), ForcePart("work")


def every(part: ForcePart) -> float:
    """The factor of each part in the residual: one."""
    return 1.0


def inertia(part: ForcePart) -> float:
    """The factors of the parts of inertia alone."""
    return float(part.kind == "inertia")


def applied(part: ForcePart) -> float:
    """The factors of all parts but those of inertia."""
    return float(part.kind != "inertia")


def work(part: ForcePart) -> float:
    """The factors of the parts without a potential."""
    return float(part.kind == "work")


def account(own: str, name: str) -> Callable[[ForcePart], float]:
    """The factors of the parts whose work has the account ``name``; own : the account of the items."""
    return lambda part: float(part.kind == "work" and part.account_of(own) == name)


class Ranges(NamedTuple):
    """Elements that threads may evaluate in ranges, without a change of the result.

    kept : the arrays that the kernel keeps for a range of the elements. starts (e, groups) : the first velocity of each
    group of an element, negative where it is fixed. sizes (groups,) : of the groups. multiple : of elements in a range.
    The kernel has a further argument after the array to which it adds: rows (0, 0, 0), or rows (n, s, w) that it sets
    to the forces of n elements instead.
    """

    kept: Callable[[slice], tuple[Any, ...]]
    starts: Ints
    sizes: tuple[int, ...]
    multiple: int = 1


@dataclass(frozen=True, eq=False)
class Force:
    """A share of the residual M a + h + f - f_applied: kernel(*kept, *read, out) adds it to out (s, n_v).

    reads : which of "u", "q", "v", "a" the kernel reads, in this order. part : its part. parts : those of a kernel that
    gives several, which takes their factors (parts,) before out, and leaves out what has the factor zero. check :
    called with the result of the kernel, -1 where nothing failed, and raises. ranges : for elements in ranges.
    composed : whether the kernel is a function that gives the calls which do it, for arrays whose entries change.
    slow : whether its kernels take so long to compile that two processes share it.
    """

    kernel: Callable[..., Any]
    kept: tuple[Any, ...]
    reads: str = "uqv"
    part: ForcePart = ForcePart.WORK
    parts: tuple[ForcePart, ...] = ()
    check: Callable[[int], object] | None = None
    ranges: Ranges | None = None
    slow: bool = False
    composed: bool = False

    @property
    def all_parts(self) -> tuple[ForcePart, ...]:
        """Its parts, one or several."""
        return self.parts or (self.part,)


@dataclass(frozen=True, eq=False)
class MassMatrix:
    """Mass matrices of elements: kernel(*kept, offset, stride, q, mass) adds them to block data (s, size).

    starts (e, groups) : the first velocity of each group of an element, negative where it is fixed. sizes (groups,) :
    of the groups. offset, stride (e, groups, groups) : of the blocks, which are looked up for the starts. definite :
    whether the matrices are positive semidefinite in any state.
    """

    kernel: Callable[..., Any]
    kept: tuple[Any, ...]
    starts: Ints
    sizes: tuple[int, ...]
    check: Callable[[int], object] | None = None
    definite: bool = True


@dataclass(frozen=True, eq=False)
class Tangent:
    """Derivatives of forces: kernel(*kept, offset, stride, *read, *matrices) adds them to block data (s, size).

    starts (e, groups) : as in ``MassMatrix``. reads : as in ``Force``. gives : the matrices to which the kernel adds,
    in this order: "d" for d(residual)/dv, "k" for d(residual)/dq H, "m" for the mass, which a step then does not take
    from ``masses``. step : whether it is part of the matrices of Newton's iteration in a step, where accelerations are
    zero. exact : whether it is part of the exact derivatives. composed : as in ``Force``.
    """

    kernel: Callable[..., Any]
    kept: tuple[Any, ...]
    starts: Ints
    reads: str = "uqv"
    gives: str = "dk"
    step: bool = True
    exact: bool = True
    check: Callable[[int], object] | None = None
    composed: bool = False


@dataclass(frozen=True, eq=False)
class Energy:
    """Energies and momenta: kernel(*kept, *read, out) adds them to out (s, 8).

    out : kinetic and potential energy, linear momentum, angular momentum about the origin. reads : as in ``Force``.
    """

    kernel: Callable[..., Any]
    kept: tuple[Any, ...]
    reads: str = "qv"
    check: Callable[[int], object] | None = None


def work_accounts(forces: "list[Force]", own: str) -> tuple[str, ...]:
    """The accounts of the work of forces, in their order; own : that of the items."""
    parts = (part for force in forces for part in force.all_parts if part.kind == "work")
    return tuple(dict.fromkeys(part.account_of(own) for part in parts))


def same_arguments(one: object, other: object) -> bool:
    """Whether arguments of kernels are equal: nested tuples and lists of arrays, numbers and functions.

    NaN, which stands for what is not given, is equal to itself.
    """
    if one is other:
        return True
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same_arguments, one, other))
    return isinstance(one, int | float | str | np.number) and type(one) is type(other) and bool(one == other)
