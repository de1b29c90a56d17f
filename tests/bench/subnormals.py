"""Subnormal numbers as zeros, for a program that does not avoid them: on some processors they take a hundred times as
long as others. femb's solvers avoid them."""

import ctypes
import mmap
import platform
from collections.abc import Iterator
from contextlib import contextmanager

# Of the control register of the vector units: its value at the start of a process, and the bits that make subnormal
# results and operands zero.
USUAL, TO_ZERO = 0x1F80, 0x8040
# The instructions "ldmxcsr [rdi]; ret".
LOAD = bytes([0x0F, 0xAE, 0x17, 0xC3])


@contextmanager
def without_subnormals() -> Iterator[None]:
    """A context in which this thread computes without subnormal numbers; none on other than x86-64 processors."""
    if platform.machine() != "x86_64":
        yield
        return
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(LOAD)
    load = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def set_register(value: int) -> None:
        load(ctypes.addressof(ctypes.c_uint32(value)))

    set_register(USUAL | TO_ZERO)
    try:
        yield
    finally:
        set_register(USUAL)
