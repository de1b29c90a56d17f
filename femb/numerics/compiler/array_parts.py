"""Arrays as numba's machine code has them: their parts, and views put together from them."""

from collections.abc import Iterable
from typing import Any

from llvmlite import ir

# The parts of numba's description of an array.
MEMINFO, PARENT, COUNT, ITEMSIZE, DATA, SHAPE, STRIDES = range(7)


def put_together(builder: Any, kind: Any, parts: Iterable[Any]) -> Any:
    """A value of LLVM's type from its parts."""
    value = ir.Constant(kind, ir.Undefined)
    for k, part in enumerate(parts):
        value = builder.insert_value(value, part, k)
    return value


def view(builder: Any, kind: Any, array: Any, data: Any, axes: range, itemsize: Any = None) -> Any:
    """A view of some axes of an array, of LLVM's type of arrays ``kind``, from an address."""
    shape, strides = ([builder.extract_value(array, (part, k)) for k in axes] for part in (SHAPE, STRIDES))
    count = ir.Constant(ir.IntType(64), 1)
    for each in shape:
        count = builder.mul(count, each, flags=["nsw"])
    parts = [
        *(builder.extract_value(array, part) for part in (MEMINFO, PARENT)),
        *(count, builder.extract_value(array, ITEMSIZE) if itemsize is None else itemsize, data),
        *(put_together(builder, kind.elements[k], part) for k, part in ((SHAPE, shape), (STRIDES, strides))),
    ]
    return put_together(builder, kind, parts)
