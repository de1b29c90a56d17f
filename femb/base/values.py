"""Values given by users: their problems, and their text in messages."""

import gc
import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from femb.base.errors import FembError, ModelError, ResultError
from femb.base.types import Floats

# Numbers beyond this, of any unit, are mistakes: products of a few of them overflow. Positive numbers must be at least
# its inverse, since they may be divisors.
LARGEST = 1e50
LONGEST_NAME = 200
TURN = 2.0 * math.pi
# Of the largest value of its kind: smaller ones in tables are rounding.
ROUNDING = 1e-10
LOST = "digits lost"
# Numbers of an array that are converted to text; a message shows fewer.
MANY = 1000
# Up to so many numbers are tested faster one by one than by numpy.
FEW = 16


@contextmanager
def without_collection() -> Iterator[None]:
    """No search for cyclic garbage while a million objects are made, which it would visit again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def shown(value: Any) -> str:
    """The text of a value in messages: one line of at most 100 characters."""
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size <= MANY else value.ravel()[:MANY].tolist()
    try:
        text = " ".join(repr(value).split("\n"))
    except Exception:  # a user's object whose repr fails
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 100 else text[:97] + "..."


def check_kind(what: str, value: object, kind: type | tuple[type, ...], wanted: str) -> None:
    """Raise ModelError, by the name of what was given, where a value is of another kind than an argument takes."""
    if not isinstance(value, kind):
        raise ModelError(f"{what}: got {shown(value)}, wanted {wanted}")


def distinct(names: Iterable[str], longest: int | None = None, key: Callable[[str], str] = str) -> list[str]:
    """The names, of at most so many letters; one whose key is that of a name before has as many "_" as make it new."""
    found: dict[str, str] = {}
    for name in names:
        taken, count = name[:longest], 0
        while key(taken) in found:
            count += 1
            taken = name[: None if longest is None else longest - count] + "_" * count
        found[key(taken)] = taken
    return list(found.values())


def file_words(names: Iterable[str], longest: int | None = None, only: re.RegexFlag = re.UNICODE) -> list[str]:
    """Names of items for names of files, where "_" is for what is no letter or digit of ``only``, which differ also
    where capitals count as small letters."""
    return distinct((re.sub(r"\W", "_", name, flags=only) for name in names), longest, str.casefold)


def numbered(number: int, word: str) -> str:
    """A number with its noun, as '1 body' or '2 bodies'."""
    if number == 1:
        return f"1 {word}"
    return f"{number} {word.removesuffix('y') + 'ies' if word.endswith('y') else word + 's'}"


def listed(names: Sequence[str], most: int = 8, separator: str = ", ") -> str:
    """The first of some names, for a message, and how many more there are."""
    more = len(names) - most
    return separator.join(names[:most]) + (f"{separator.rstrip(', ')} and {more} more" if more > 0 else "")


def nearest(name: str, known: Iterable[str]) -> str:
    """Advice for a misspelt name: the closest of those that are known."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=3, cutoff=0.6)
    return f"; did you mean {', '.join(map(repr, close))}?" if close else ""


def absent(name: str, known: Iterable[str]) -> str:
    """A name that is none of those known, with advice and these, for a message that begins as 'no state '."""
    names = dict.fromkeys(known)
    return f"{name!r}{nearest(name, names)}; there are: {', '.join(names) or 'none'}"


def vector(x: Floats) -> str:
    """Numbers as '(1, 2, 3)', to six digits."""
    return "(" + ", ".join(f"{float(entry):.6g}" for entry in x) + ")"


def bracketed(values: ArrayLike) -> str:
    """Numbers as '[1, 2, 3]', to six digits."""
    return "[" + ", ".join(f"{value:g}" for value in np.atleast_1d(np.asarray(values, dtype=float))) + "]"


def without_rounding(values: Floats, scale: ArrayLike) -> Floats:
    """Values for a table, with zeros for those that are rounding on the scale of their column."""
    return np.where(np.abs(values) <= ROUNDING * np.asarray(scale), 0.0, values)


def as_known(values: Floats, precision: Floats) -> list[str]:
    """Values (k,) for a table to six digits, or to those that are known up to the parts (k,); LOST where none is."""
    with np.errstate(divide="ignore"):
        digits = np.minimum(6.0, np.floor(-np.log10(precision)))
    return [f"{x:.{int(n)}g}" if n >= 1.0 else LOST for x, n in zip(values.tolist(), digits.tolist(), strict=True)]


def as_numbers(value: Any) -> Floats | None:
    """``value`` as a float array; None where an entry is no number (text and truth values are none)."""
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        return None
    return array.astype(float) if array.dtype.kind in "iuf" and not _has_bool(value) else None


def given_numbers(value: Any, count: int, what: str, wanted: str = "") -> Floats:
    """A user's ``count`` numbers as an array. Raises ModelError: ``what`` they are, and more of what is ``wanted``."""
    array = as_numbers(value)
    if array is None or array.shape != (count,):
        raise ModelError(f"{what}: got {shown(value)}, wanted {count} numbers{wanted}")
    return array


def _has_bool(value: Any) -> bool:
    # numpy converts [1.0, True] to two numbers
    return any(map(_has_bool, value)) if isinstance(value, list | tuple) else isinstance(value, bool | np.bool_)


def array_problem(value: Any, shape: tuple[int | None, ...]) -> str | None:
    """Why ``value`` is not a finite array of ``shape``, in which None is any number; None if it is."""
    if type(value) in (tuple, list) and (len(value),) == shape and len(value) <= FEW:
        for entry in value:
            if not (type(entry) is float and -LARGEST <= entry <= LARGEST) and not _within(entry):
                break
        else:
            return None
    array = as_numbers(value)
    fits = array is not None and len(array.shape) == len(shape) and array.size > 0
    if not fits or any(wanted not in (None, size) for size, wanted in zip(array.shape, shape, strict=True)):  # type: ignore[union-attr]
        rows = "rows of numbers" if shape == (None, None) else f"a {' x '.join(map(str, shape))} array of numbers"
        wanted_words = f"{shape[0]} numbers" if len(shape) == 1 else rows
        return f"got {shown(value)}, wanted {wanted_words}"
    return finite_problem(value, array)  # type: ignore[arg-type]


def _within(value: Any) -> bool:
    """Whether a value is a float, of Python or numpy, or a whole number of Python, that is admissible."""
    return (isinstance(value, float) or type(value) is int) and -LARGEST <= value <= LARGEST


def finite_problem(value: Any, array: Floats) -> str | None:
    """Why the numbers of ``value``, as an array, are not admissible (not finite, or too large); None if they are."""
    if array.size <= FEW and all(map(_within, array.ravel().tolist())):
        return None
    if not np.all(np.isfinite(array)):
        return f"got {shown(value)}, every number must be finite"
    if np.any(np.abs(array) > LARGEST):
        return f"got {shown(value)}, every number must be within {LARGEST:g}, since larger ones overflow"
    return None


def order_problem(stations: Floats, unit: str = "m") -> str | None:
    """Why lengths along a beam are out of order, as if the problem were named before; None if they ascend."""
    steps = np.diff(stations)
    if np.all(steps > 0.0):
        return None
    k = int(np.argmin(steps > 0.0))
    order = f"{stations[k + 1]:.6g} {unit} follows {stations[k]:.6g} {unit}"
    return f"out of order: {order}; wanted lengths from the start in ascending order"


def number_problem(value: Any) -> str | None:
    """Why ``value`` is not a finite number; None if it is."""
    if _within(value):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return f"got {shown(value)}, wanted a number"
    try:
        finite = math.isfinite(value)
    except OverflowError:  # a whole number beyond the range of floats
        finite = False
    if not finite:
        return f"got {shown(value)}, must be finite"
    if abs(float(value)) > LARGEST:
        return f"got {shown(value)}, must be within {LARGEST:g}, since larger numbers overflow"
    return None


def whole_number(value: Any) -> bool:
    """Whether ``value`` is a whole number; truth values are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def name_problem(name: Any) -> str | None:
    """Why ``name`` is no name of an item; None if it is.

    Names are components of paths in result files, and parts of file names.
    """
    if type(name) is str and name.isidentifier() and len(name) <= LONGEST_NAME:
        return None
    if not isinstance(name, str) or name == "" or "/" in name:
        return f"got {shown(name)}, wanted text that is not empty and has no '/'"
    if name in (".", "..") or "\\" in name:
        return f"got {shown(name)}, which is a path: wanted text other than '.' and '..' and without '\\'"
    if not name.isprintable() or name != name.strip():
        return f"got {shown(name)}, wanted text on one line without control characters or blanks around it"
    if len(name) > LONGEST_NAME:
        return f"got a name of {len(name)} characters, wanted at most {LONGEST_NAME}"
    return None


def frozen_array(value: Any) -> Floats:
    """A read-only float copy of ``value``."""
    array = np.array(value, dtype=float)
    array.setflags(write=False)
    return array


# Checks of the arguments of analyses and results: names, numbers and spans of time, refused in one manner.

Refusal = type[FembError]


def check_frame(frame: Any) -> None:
    """Raise ResultError where a value is no name of a frame."""
    if not isinstance(frame, str):
        raise ResultError(f"frame: got {shown(frame)}, wanted the name of a body, or of a beam's node as 'NAME[NODE]'")


def check_choice(what: str, value: Any, known: Collection[str], items: str = "names") -> None:
    """Raise ModelError where a value is none of the ``known`` names, of which there may be none; items : their kind."""
    if not isinstance(value, str) or value not in known:
        wanted = f"wanted one of {', '.join(known)}" if known else f"but there are no {items}"
        raise ModelError(f"{what}: got {shown(value)}, {wanted}")


def check_options(of: Callable[..., Any], options: Iterable[str], known: type) -> None:
    """Raise ModelError where an option of a function is none of those of a TypedDict."""
    own = [each.name for each in signature(of).parameters.values() if each.kind is not each.VAR_KEYWORD]
    names = [*own, *known.__annotations__]
    for name in options:
        if name not in names:
            raise ModelError(
                f"{of.__name__}: there is no option {name!r}{nearest(name, names) or f'; there are: {listed(names)}'}"
            )


def names_of(what: str, value: Any, error: Refusal = ModelError) -> tuple[str, ...]:
    """A list or tuple of names as a tuple. Raises the error: anything else."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        advice = f": [{value!r}]" if isinstance(value, str) else ""
        raise error(f"{what}: got {shown(value)}, wanted a list of names{advice}")
    return tuple(value)


def check_flag(what: str, value: Any) -> None:
    """Raise ModelError where a value is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"{what}: got {shown(value)}, wanted True or False")


def span_of(times: Any) -> tuple[float | None, float | None]:
    """The first and the last instant, s, each a number or None. Raises ResultError: anything else."""
    pair = isinstance(times, list | tuple) and len(times) == 2
    if not pair or not all(each is None or not number_problem(each) for each in times):
        raise ResultError(f"times: got {shown(times)}, wanted the first and the last instant in s, such as (0.0, 2.5)")
    return times[0], times[1]


def check_table(what: str, value: Any) -> None:
    """Raise ModelError where a value is no dictionary of numbers by names."""
    if not isinstance(value, Mapping) or not all(
        isinstance(name, str) and not number_problem(x) for name, x in value.items()
    ):
        raise ModelError(
            f"{what}: got {shown(value)}, wanted numbers by their names, such as {{'joints.pin.angle': 0.1}}"
        )


def numbers_of(what: str, value: ArrayLike, unit: str, error: Refusal = ModelError) -> Floats:
    """A number or a list of numbers as (n,). Raises the error: no numbers, none, or any that is not finite."""
    array = as_numbers(value)
    if array is None or array.ndim > 1 or not array.size or not np.all(np.isfinite(array)):
        raise error(f"{what}: got {shown(value)}, wanted finite numbers in {unit}")
    return np.atleast_1d(array)


# Copies of objects that are never changed, with other values of a few attributes, and results that are kept.

T = TypeVar("T")


class Keeper(Generic[T]):
    """The last ``most`` results of a pure function, by all that they depend on. Nothing changes a result."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._found: dict[Hashable, T] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result for a key, which ``make`` computes where it is not known; an error of ``make`` is not kept."""
        found = self._found.get(key)
        if found is None:
            found = make()
            with self._lock:
                if len(self._found) >= self._most:
                    del self._found[next(iter(self._found))]
                self._found[key] = found
        return found

    def __len__(self) -> int:
        return len(self._found)

    def clear(self) -> None:
        """Keep none of the results so far."""
        with self._lock:
            self._found.clear()


def shallow_copy(original: T) -> T:
    """A copy with the same attributes, of an object without slots; ``copy.copy`` takes several times as long."""
    result: T = object.__new__(type(original))
    result.__dict__.update(original.__dict__)
    return result
