"""Kernels bound to their arguments, which other kernels call by address.

A loop in Python that calls kernels again and again with the same arrays, whose entries change, spends more time on the
arguments than small kernels take. ``Bound`` puts the arguments of a kernel into a block of memory once, in the layout
that numba gives them; ``call_bound`` calls the kernel from another one, by the addresses of its machine code and of the
block. All kernels can be called so by one loop, whatever their arguments, and none is compiled again for it.

Kernels marked ``@kernel_with_entry`` are called so; other functions are called back by Python from there. Where the
version of numba was not tested, or kernels are not compiled (NUMBA_DISABLE_JIT), all are called back by their numbers,
and what calls them, marked ``@calling``, is Python: the same program runs everywhere.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from ctypes import CFUNCTYPE, addressof, c_char, c_int64, c_void_p, cast
from struct import Struct, pack
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import numba
import numpy as np

from femb.base.types import Floats, Ints
from femb.numerics.compiler import kernel_compiler
from femb.numerics.compiler.compile import kernel_with_entry

# Bytes of a word, and the word of an array in which its address is.
WORD, ADDRESS = 8, 4
FROM_COMPILED = CFUNCTYPE(c_int64, c_void_p)
AVAILABLE = kernel_compiler.KNOWN and not numba.config.DISABLE_JIT


Known: TypeAlias = dict[int, tuple[Any, bytes]]
"""Descriptions of arguments by their numbers, while they exist: see ``_described``."""


class Bound:
    """A kernel, or a Python function, with arguments whose entries may change from call to call.

    check : called with the result of the kernel, to raise the error that it tells of. A kernel that may fail returns -1
    where it does not.
    """

    def __init__(self, kernel: Any, *args: Any, check: Callable[[int], object] | None = None) -> None:
        self.kernel, self.args, self.check = kernel, args, check
        # the arguments, kept as long as their address
        self._block: Ints | None = None
        self._entry: tuple[int, int] | None = None
        self._callback: Any = None
        # what the function has raised where compiled code called it, which Python errors cannot pass
        self.error: BaseException | None = None

    def __call__(self) -> Any:
        """Call the kernel; returns its result. Raises the error of the last call from compiled code, if it failed."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        result = self.kernel(*self.args)
        if self.check is not None:
            self.check(result)
        return result

    def entry(self, known: Known) -> tuple[int, int]:
        """The addresses of the kernel and of its block of arguments, for ``call_bound``."""
        if self._entry is None:
            self._entry = self._by_address(known) if AVAILABLE else self._by_number()
        return self._entry

    def _by_address(self, known: Known) -> tuple[int, int]:
        address_for, address = getattr(self.kernel, "address_for", None), 0
        if address_for is not None:
            parts = [_described(each, known) for each in self.args]
            self._block = np.frombuffer(bytearray().join([words for _, words in parts]), dtype=np.int64)
            address = address_for(self.args, tuple([key for key, _ in parts]))
        if not address:
            self._block, self._callback = np.zeros(1, dtype=np.int64), FROM_COMPILED(self.called_back)
            address = cast(self._callback, c_void_p).value or 0
        return address, _address(self._block)

    def _by_number(self) -> tuple[int, int]:
        NUMBERED[id(self)] = self
        return id(self), 0

    def called_back(self, block: int) -> int:
        """Call the function from compiled code: 0 where it raises an error, which is kept; an interrupt until it is
        raised. Else its result if that is an integer, or -1."""
        if self.error is not None and not isinstance(self.error, Exception):
            return 0
        try:
            result = self.kernel(*self.args)
        except BaseException as error:
            self.error = error
            return 0
        self.error = None
        return result if isinstance(result, int) else -1

    def place(self, number: int) -> int:
        """The first word in the block of the argument with this number."""
        return sum(len(_described(each, {})[1]) for each in self.args[:number]) // WORD

    def point(self, name: str, array: Floats) -> None:
        """Let an argument of the kernel be another array of the same type and shape."""
        number = self.kernel.py_func.__code__.co_varnames.index(name)
        self.args = *self.args[:number], array, *self.args[number + 1 :]
        if self._block is not None:
            self._block[self.place(number) + ADDRESS] = _address(array)


class BoundSequence:
    """Functions, bound kernels among them, that are called one after the other."""

    def __init__(self, calls: Sequence[Callable[[], object]]) -> None:
        self.calls = calls

    def __call__(self) -> Any:
        """Call them; returns the result of the last."""
        result: Any = None
        for call in self.calls:
            result = call()
        return result

    def flattened(self) -> Iterator[Bound]:
        """The calls, with those of sequences among them."""
        for call in self.calls:
            if isinstance(call, BoundSequence):
                yield from call.flattened()
            else:
                yield call if isinstance(call, Bound) else Bound(call)


class Program(BoundSequence):
    """Calls without arguments, in order, which one call of compiled code makes."""

    _entries: Ints | None = None

    def take_apart(self) -> None:
        """Take up calls anew, of which some have been replaced."""
        self._entries = None

    def put_together(self, known: Known) -> Ints:
        """(n, 2) the entries of the calls; known : of calls with equal arrays."""
        if self._entries is None:
            # kept as long as their addresses
            self.bound = list(self.flattened())
            self._entries = np.array([each.entry(known) for each in self.bound], dtype=np.int64).reshape(-1, 2)
        return self._entries

    def made(self) -> bool:
        """Make the calls up to the first that fails; whether none does."""
        entries = self.put_together({})
        return bool(call_each(entries) == len(entries))

    def __call__(self) -> None:
        """Make the calls; raises the error of one that fails."""
        if not self.made():
            # once more by Python, which tells why
            for each in self.bound:
                each()

    def number(self) -> float:
        """Make the calls; returns the number that the last one does, not a number where another fails."""
        result: float = called(self.put_together({}))
        return result


# Of the flags of an array those that tell its type: contiguous, in columns, and writable.
FLAGS, WRITABLE = 0x403, 0x400
# The words of an array, by the number of its dimensions. It has no owner: machine code counts no references to it.
WORDS_OF_ARRAYS = [Struct(f"{ADDRESS + 1 + 2 * k}q").pack for k in range(6)]


def _address(array: Any) -> int:
    return _address_by(array, array.flags.num & FLAGS)


def _address_by(array: Any, flags: int) -> int:
    if flags > WRITABLE and array.size:
        # a third of the time of the other, which also describes the type
        return addressof(c_char.from_buffer(array))
    address: int = array.__array_interface__["data"][0]
    return address


def _described(value: Any, known: Known) -> tuple[Any, bytes]:
    """A key that is equal for arguments of equal types, and an argument in 64-bit words, as machine code of numba reads
    it; ``kernel_compiler.words_of`` counts them."""
    found = known.get(id(value))
    if found is not None:
        return found
    if type(value) is np.ndarray:
        shape, flags, size, width = value.shape, value.flags.num & FLAGS, value.size, value.itemsize
        words = WORDS_OF_ARRAYS[len(shape)](0, 0, size, width, _address_by(value, flags), *shape, *value.strides)
        found = (value.dtype.char, len(shape), flags), words
    elif isinstance(value, tuple):
        parts = [_described(each, known) for each in value]
        found = tuple([key for key, _ in parts]), b"".join([words for _, words in parts])
    elif isinstance(value, float):
        found = float, pack("d", value)
    else:
        found = type(value), pack("q", value) if isinstance(value, int | np.integer) else b""
    known[id(value)] = found
    return found


# The bound functions that Python calls by their numbers.
NUMBERED: WeakValueDictionary[int, Bound] = WeakValueDictionary()


def call_by_number(number: int, block: int) -> int:
    """The integer that the function with this number returns, see ``Bound.called_back``."""
    return NUMBERED[number].called_back(block)


def number_by_number(number: int, block: int) -> float:
    """The number that the function with this number returns."""
    bound = NUMBERED[number]
    value: float = bound.kernel(*bound.args)
    return value


if AVAILABLE:
    from llvmlite import ir
    from numba.core import types
    from numba.core.typing.templates import signature
    from numba.extending import intrinsic

    def _call(builder: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = builder.inttoptr(args[0], ir.FunctionType(word, [word.as_pointer()]).as_pointer())
        return builder.call(function, [builder.inttoptr(args[1], word.as_pointer())])

    @intrinsic
    def call_bound(typingctx: Any, address: Any, block: Any) -> Any:
        """The integer that the kernel with this address and block returns, see ``Bound.entry``; -1 for none."""
        kind = signature(types.int64, types.int64, types.int64)
        return kind, lambda context, builder, sig, args: _call(builder, args)

    @intrinsic
    def call_for_number(typingctx: Any, address: Any, block: Any) -> Any:
        """The number that the kernel with this address and block returns; not finite for none."""
        kind = signature(types.float64, types.int64, types.int64)
        return kind, lambda context, builder, sig, args: builder.bitcast(_call(builder, args), ir.DoubleType())
else:
    call_bound, call_for_number = call_by_number, number_by_number


def calling(function: Callable[..., Any]) -> Callable[..., Any]:
    """A ``kernel_with_entry`` that calls bound kernels."""
    return kernel_with_entry(function) if AVAILABLE else function


@calling
def call_each(program: Any) -> int:
    """Call bound kernels (n, 2) one after the other, up to the first that does not return -1; how many of them did."""
    for k in range(program.shape[0]):
        if call_bound(program[k, 0], program[k, 1]) != -1:
            return k
    count: int = program.shape[0]
    return count


@calling
def called(program: Any) -> float:
    """The number that the last of bound kernels (n, 2) returns, which are called one after the other: 0 for none, not a
    number where another fails."""
    last = program.shape[0] - 1
    if last < 0:
        return 0.0
    if call_each(program[:last]) < last:
        return math.nan
    number: float = call_for_number(program[last, 0], program[last, 1])
    return number
