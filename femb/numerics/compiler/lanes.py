"""Numbers of several elements in one value, so that a kernel written for one element computes LANES at once.

``lanes(array)`` shows an array (..., LANES) as an array (...) of such values. Kernels marked ``@inlined`` take them as
they take numbers: +, -, *, / and ``math.sqrt`` act on every lane, and a number beside them stands for all lanes;
``math.sin`` and ``math.cos`` take one lane after another, which ``femb.numerics.orbits`` avoids for small angles.
What differs between elements is chosen by ``choose(condition, x, y)``, and left out where ``every(condition)``;
``magnitude`` is a size without a sign. They take numbers too. A value is a vector of the processor: one instruction does the work of several, with the same
rounding.
There are four lanes, since models with few elements would leave more of them unused; eight take an eighth less time for
many elements.

The type of these values extends numba by names that another version may lack. There is one lane, a plain number, where
the version of numba was not tested (`femb.numerics.compiler.kernel_compiler`), where the extension raises, and where
kernels are not compiled (NUMBA_DISABLE_JIT).
"""

from importlib import import_module
from typing import Any

import numba

from femb.numerics.compiler.kernel_compiler import KNOWN, OPTIONS


def _extension() -> Any:
    """The module of the type, or None where numba cannot have it."""
    if not KNOWN or numba.config.DISABLE_JIT:
        return None
    try:
        return import_module("femb.numerics.compiler.lane_types")
    except Exception:
        # Whatever numba refuses, one lane computes the same.
        return None


_TYPES = _extension()

if _TYPES is not None:
    LANES, lanes, choose, every = _TYPES.LANES, _TYPES.lanes, _TYPES.choose, _TYPES.every
    magnitude = _TYPES.magnitude
else:
    LANES = 1
    # by numba alone, since a view of an array is counted as a reference to it
    _inlined = numba.njit(**OPTIONS)

    @_inlined
    def lanes(array: Any) -> Any:
        """View of an array (..., LANES) as an array (...) of values with LANES numbers each."""
        return array[..., 0]

    @_inlined
    def choose(condition: Any, x: Any, y: Any) -> Any:
        """x in the lanes where the condition holds, y in the others."""
        return x if condition else y

    @_inlined
    def every(condition: Any) -> bool:
        """Whether the condition holds in every lane."""
        return bool(condition)

    @_inlined
    def magnitude(x: Any) -> Any:
        """|x|; of a complex number the sum of its parts' sizes."""
        return abs(x.real) + abs(x.imag)
