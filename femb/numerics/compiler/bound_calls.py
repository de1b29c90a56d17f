"""Kernels bound to their arguments, which other kernels call by address.

A loop in Python that calls kernels again and again with the same arrays, whose entries change, spends more time on the
arguments than small kernels take. ``Bound`` puts the arguments of a kernel into a block of memory once, in the layout
that numba gives them; ``call_bound`` calls the kernel from another one, by the addresses of its machine code and of the
block. All kernels can be called so by one loop, whatever their arguments, and none is compiled again for it.

Kernels marked ``@kernel_with_entry`` are called so; other functions are called back by Python from there. Where the
version of numba was not tested, or kernels are not compiled (NUMBA_DISABLE_JIT), none can, and Python calls all.
"""

from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, addressof, c_char, c_int64, c_void_p, cast
from functools import cached_property
from struct import Struct, pack
from typing import Any, TypeAlias

import numba
import numpy as np

from femb.base.types import Floats, Ints
from femb.numerics.compiler import kernel_compiler
from femb.numerics.compiler.compile import kernel

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
        # the arguments, kept as long as their address, and the first words of some
        self._block: Ints | None = None
        self._places: dict[int, int] = {}
        self._entry: tuple[int, int] | None = None
        self._callback: Any = None
        self._interrupt: BaseException | None = None

    def __call__(self) -> Any:
        """Call the kernel; returns its result."""
        if self._interrupt is not None:
            interrupt, self._interrupt = self._interrupt, None
            raise interrupt
        result = self.kernel(*self.args)
        if self.check is not None:
            self.check(result)
        return result

    def entry(self, known: Known) -> tuple[int, int] | None:
        """The addresses of the kernel and of its block of arguments, for ``call_bound``; None where it has none."""
        if self._block is not None or not AVAILABLE:
            return self._entry
        address_for = getattr(self.kernel, "address_for", None)
        if address_for is None:
            self._block, self._callback = np.zeros(1, dtype=np.int64), FROM_COMPILED(self._called_back)
            self._entry = cast(self._callback, c_void_p).value or 0, _address(self._block)
        else:
            parts = [_described(each, known) for each in self.args]
            self._block = np.frombuffer(bytearray().join([words for _, words in parts]), dtype=np.int64)
            if address := address_for(self.args, tuple([key for key, _ in parts])):
                self._entry = address, _address(self._block)
        return self._entry

    def _called_back(self, block: int) -> int:
        """Call the function from compiled code, which Python errors cannot pass: 0, where the call by Python that
        follows raises it again, else -1."""
        try:
            self()
        except Exception:
            return 0
        except BaseException as interrupt:
            self._interrupt = interrupt
            return 0
        return -1

    @cached_property
    def _numbers(self) -> Floats:
        assert self._block is not None
        return self._block.view(np.float64)

    def place(self, number: int) -> int:
        """The first word in the block of the argument with this number."""
        if number not in self._places:
            self._places[number] = sum(len(_described(each, {})[1]) for each in self.args[:number]) // WORD
        return self._places[number]

    def _number_of(self, name: str) -> int:
        names: tuple[str, ...] = self.kernel.py_func.__code__.co_varnames
        return names.index(name)

    def set(self, name: str, number: float, part: int = 0) -> None:
        """Set an argument of the kernel, or this part of a tuple that begins with numbers, for calls by address."""
        self._numbers[self.place(self._number_of(name)) + part] = number

    def point(self, name: str, array: Floats) -> None:
        """Let an argument of the kernel be another array of the same type and shape."""
        number = self._number_of(name)
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


def program(calls: Sequence[Callable[[], object]], known: Known | None = None) -> Ints | None:
    """(n, 2) the entries of calls, which must be kept; None where one has none. known : of calls with equal arrays."""
    entries: list[tuple[int, int]] = []
    found = _add(calls, entries, {} if known is None else known)
    return np.array(entries, dtype=np.int64).reshape(-1, 2) if found else None


def _add(calls: Sequence[Callable[[], object]], entries: list[tuple[int, int]], known: Known) -> bool:
    """Add the entries of calls; whether all have one."""
    for call in calls:
        if isinstance(call, BoundSequence):
            if not _add(call.calls, entries, known):
                return False
        elif isinstance(call, Bound) and (entry := call.entry(known)) is not None:
            entries.append(entry)
        else:
            return False
    return True


# Of the flags of an array those that tell its type: contiguous, in columns, and writable.
FLAGS, WRITABLE = 0x403, 0x400
# The words of an array, by the number of its dimensions. It has no owner: machine code counts no references to it.
WORDS_OF_ARRAYS = [Struct(f"{ADDRESS + 1 + 2 * k}q").pack for k in range(6)]


def _address(array: Any) -> int:
    """The address of the first entry of an array."""
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

    def call_bound(address: int, block: int) -> int:
        """Raise RuntimeError: kernels have no entries here."""
        raise RuntimeError("kernels have no entries")

    call_for_number = call_bound


@kernel
def call_each(program: Any) -> int:
    """Call bound kernels (n, 2) one after the other, up to the first that does not return -1; how many of them did."""
    for k in range(program.shape[0]):
        if call_bound(program[k, 0], program[k, 1]) != -1:
            return k
    count: int = program.shape[0]
    return count
