"""Numbers of several elements in one value, so that a kernel written for one element computes LANES at once.

``lanes(array)`` shows an array (..., LANES) as an array (...) of such values. Kernels marked ``@inlined`` take them as
they take numbers: +, -, *, / and ``math.sqrt`` act on every lane, and a number beside them stands for all lanes;
``math.sin`` and ``math.cos`` take one lane after another, which ``femb.numerics.orbits`` avoids for small angles.
What differs between elements is chosen by ``choose(condition, x, y)``, and left out where ``every(condition)``;
``magnitude`` is a size without a sign, ``place_of`` the integer of a value that is a whole number. They take numbers
too. A value is a vector of the processor: one instruction does the work of several, with the same rounding.
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
    magnitude, place_of, is_mixed, has_place = _TYPES.magnitude, _TYPES.place_of, _TYPES.is_mixed, _TYPES.has_place
    places_in = _TYPES.places_in
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

    @_inlined
    def place_of(x: Any) -> Any:
        """The whole number x as an integer."""
        return int(x)

    @_inlined
    def is_mixed(place: Any, x: Any) -> bool:
        """Whether a ``place_of`` differs between lanes."""
        return False

    @_inlined
    def has_place(place: Any, number: Any, x: Any) -> bool:
        """In which lanes a mixed ``place_of`` is this number."""
        return False

    def places_in(lane: int, place: Any) -> Any:
        """The numbers in one lane, of an array of ``place_of``."""
        return place
