"""Numbers with changes, and small vectors and matrices of them: the mathematics of traced functions.

A ``Dual`` is a number and its changes along a few directions. What a number is, nothing here asks: a number or an array
of numpy, real or complex, which is computed at once, or a register of machine code, whose operators write instructions
(``femb.numerics.compiler.small_types``). So one text is a force, its derivative and their check with complex steps.
A change that is zero is None and costs nothing; of a number that is known when code is written no product with zero or
one is written.
Where a function has a kink: |x| has no change at zero, ``minimum`` and ``maximum`` of equal numbers are the first, the
``norm`` of a zero vector and ``atan2(0, 0)`` are zero without change. ``sqrt`` and ``log`` have an infinite slope at
zero. Equations: docs/theory/kernels.md.
"""

import operator
from collections.abc import Callable, Iterator
from math import prod
from typing import Annotated, Any, TypeAlias

import numpy as np

# Annotations of the arguments of traced functions, and of the fields of named tuples of them.
Number: TypeAlias = Annotated[Any, ()]
Vector3: TypeAlias = Annotated[Any, (3,)]
Vector4: TypeAlias = Annotated[Any, (4,)]
Vector6: TypeAlias = Annotated[Any, (6,)]
Matrix3: TypeAlias = Annotated[Any, (3, 3)]
Matrix43: TypeAlias = Annotated[Any, (4, 3)]


class ShapeError(TypeError):
    """Operands whose shapes do not fit."""


def _is(x: Any, number: float) -> bool:
    return isinstance(x, float) and x == number


def _plus(x: Any, y: Any) -> Any:
    if x is None or _is(x, 0.0):
        return y
    return x if y is None or _is(y, 0.0) else x + y


def _minus(x: Any, y: Any) -> Any:
    if y is None or _is(y, 0.0):
        return x
    return -y if x is None or _is(x, 0.0) else x - y


def _times(x: Any, y: Any) -> Any:
    if x is None or y is None:
        return None
    for one, other in ((x, y), (y, x)):
        if _is(one, 0.0):
            return 0.0
        if _is(one, 1.0):
            return other
        if _is(one, -1.0):
            return -other
    return x * y


def _over(x: Any, y: Any) -> Any:
    return np.divide(x, y) if is_number(x) and is_number(y) else x / y


def is_number(x: Any) -> bool:
    """Whether x is a number or array of Python or numpy, with which is computed at once."""
    return isinstance(x, int | float | complex | np.ndarray | np.generic)


def _called(word: str, *numbers: Any) -> Any:
    """A function of numpy, or what a register has in its place."""
    register = next((x for x in numbers if not is_number(x)), None)
    if register is not None:
        return register.call(word, *numbers)
    if word == "arctan2" and any(map(np.iscomplexobj, numbers)):
        # numpy has none of complex numbers; steps are small
        (y, dy), (x, dx) = ((np.real(each), np.imag(each)) for each in numbers)
        return np.arctan2(y, x) + 1j * (x * dy - y * dx) / (x * x + y * y)
    return getattr(np, word)(*numbers)


def _where_positive(test: Any, x: Any, y: Any) -> Any:
    """x where a number is positive, y elsewhere; None where neither is a change."""
    if x is None and y is None:
        return None
    x, y = (0.0 if each is None else each for each in (x, y))
    if not is_number(test):
        return test.where_positive(x, y)
    if np.ndim(test) == 0 and not (is_number(x) and is_number(y)):
        return x if np.real(test) > 0.0 else y
    return np.where(np.real(test) > 0.0, x, y)[()]


class Dual:
    """A number with changes."""

    __slots__ = ("changes", "value")
    __array_ufunc__ = None  # numbers of numpy leave operators to it

    def __init__(self, value: Any, changes: tuple[Any, ...] = ()) -> None:
        self.value, self.changes = value, changes

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.changes!r})"

    def __neg__(self) -> "Dual":
        return Dual(-self.value, tuple(None if each is None else -each for each in self.changes))

    def __add__(self, other: Any) -> Any:
        return _both(self, other, "+", _plus, _plus)

    def __radd__(self, other: Any) -> Any:
        return _both(other, self, "+", _plus, _plus)

    def __sub__(self, other: Any) -> Any:
        return _both(self, other, "-", _minus, _minus)

    def __rsub__(self, other: Any) -> Any:
        return _both(other, self, "-", _minus, _minus)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, SmallArray):
            return NotImplemented
        x, y = self, as_dual(other)
        changes = _pairs(x, y, lambda dx, dy: _plus(_times(dx, y.value), _times(x.value, dy)))
        return Dual(_times(x.value, y.value), changes)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        x, y = self, as_dual(other)
        if all(each is None for each in (*x.changes, *y.changes)):
            return Dual(_over(x.value, y.value), x.changes)
        reciprocal = _over(1.0, y.value)  # leaves the loop over directions
        value = _times(x.value, reciprocal)
        return Dual(value, _pairs(x, y, lambda dx, dy: _times(_minus(dx, _times(value, dy)), reciprocal)))

    def __rtruediv__(self, other: Any) -> Any:
        return as_dual(other) / self

    def __pow__(self, exponent: int) -> Any:
        if not isinstance(exponent, int) or exponent < 1:
            raise TypeError(f"** {exponent!r}: wanted a whole number above zero; write sqrt(x), or 1.0 / x")
        return prod([self] * (exponent - 1), start=self)

    def __abs__(self) -> "Dual":
        sign = _where_positive(self.value, 1.0, _where_positive(-self.value, -1.0, 0.0))
        return _chained(_times(sign, self.value), (sign, self))

    def _no_branch(self, *other: Any) -> bool:
        raise TypeError("a value is not known when code is written: use minimum and maximum, or branch in the kernel")

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __index__ = _no_branch

    def __float__(self) -> float:
        # of what is computed at once, as where kernels are plain Python: arrays take numbers so
        known = isinstance(self.value, float) and all(each is None for each in self.changes)
        return float(self.value) if known else float(self._no_branch())


def as_dual(x: Any) -> Dual:
    """A number as a Dual."""
    if isinstance(x, SmallArray):
        raise ShapeError(f"wanted a number, got an array of shape {x.shape}")
    if isinstance(x, Dual):
        return x
    return Dual(float(x) if isinstance(x, int) else x)


def _pairs(x: Dual, y: Dual, rule: Callable[[Any, Any], Any]) -> tuple[Any, ...]:
    count = max(len(x.changes), len(y.changes))
    both = ((*each.changes, *[None] * (count - len(each.changes))) for each in (x, y))
    return tuple(None if dx is None and dy is None else rule(dx, dy) for dx, dy in zip(*both, strict=True))


def _both(x: Any, y: Any, sign: str, of_values: Callable[..., Any], of_changes: Callable[..., Any]) -> Any:
    for each in (x, y):
        if isinstance(each, SmallArray):
            raise ShapeError(f"{_shape(x)} {sign} {_shape(y)}: wanted equal shapes")
    x, y = as_dual(x), as_dual(y)
    return Dual(of_values(x.value, y.value), _pairs(x, y, of_changes))


def _shape(x: Any) -> tuple[int, ...]:
    return x.shape if isinstance(x, SmallArray) else ()


class SmallArray:
    """A vector or matrix of numbers with changes; * and / take a number, @ is the product of matrices."""

    __array_ufunc__ = None

    def __init__(self, shape: tuple[int, ...], items: Any) -> None:
        self.shape, self.items = shape, [as_dual(each) for each in items]
        if len(self.items) != prod(shape):
            raise ShapeError(f"{len(self.items)} numbers do not have the shape {shape}")

    def __repr__(self) -> str:
        return f"SmallArray({self.shape}, {self.items})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        values = np.stack(np.broadcast_arrays(*(each.value for each in self.items)))
        return values.reshape(self.shape + values.shape[1:]).astype(dtype or values.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, at: Any) -> Any:
        places = np.arange(prod(self.shape)).reshape(self.shape)[at]
        found = [self.items[i] for i in np.ravel(places)]
        return SmallArray(places.shape, found) if np.ndim(places) else found[0]

    def shaped(self, *shape: int) -> "SmallArray":
        """Its numbers in another shape."""
        return SmallArray(shape, self.items)

    def paired(self, other: Any, sign: str, rule: Callable[[Any, Any], Any]) -> "SmallArray":
        """Results of a rule for each entry and that of an array of the same shape."""
        if _shape(other) != self.shape:
            raise ShapeError(f"{self.shape} {sign} {_shape(other)}: wanted equal shapes")
        return SmallArray(self.shape, map(rule, self.items, other.items))

    def __add__(self, other: Any) -> "SmallArray":
        return self.paired(other, "+", operator.add)

    def __sub__(self, other: Any) -> "SmallArray":
        return self.paired(other, "-", operator.sub)

    def __radd__(self, other: Any) -> "SmallArray":
        raise ShapeError(f"{_shape(other)} + {self.shape}: wanted equal shapes")

    def __rsub__(self, other: Any) -> "SmallArray":
        raise ShapeError(f"{_shape(other)} - {self.shape}: wanted equal shapes")

    def __neg__(self) -> "SmallArray":
        return SmallArray(self.shape, [-each for each in self.items])

    def __mul__(self, factor: Any) -> "SmallArray":
        if isinstance(factor, SmallArray):
            raise ShapeError(f"{self.shape} * {factor.shape}: wanted a number; write dot, cross, outer, scaled or @")
        return SmallArray(self.shape, [each * factor for each in self.items])

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> "SmallArray":
        reciprocal = 1.0 / as_dual(divisor)
        return SmallArray(self.shape, [each * reciprocal for each in self.items])

    @property
    def T(self) -> "SmallArray":
        """The transposed matrix."""
        if len(self.shape) != 2:
            raise ShapeError(f"{self.shape}.T: wanted a matrix")
        rows, columns = self.shape
        return SmallArray((columns, rows), [self.items[i * columns + j] for j in range(columns) for i in range(rows)])

    def __matmul__(self, other: Any) -> Any:
        if not _shape(other) or self.shape[-1] != other.shape[0]:
            raise ShapeError(f"{self.shape} @ {_shape(other)}: wanted a row as long as a column")
        columns = list(other.T) if len(other.shape) == 2 else [other]
        rows = list(self) if len(self.shape) == 2 else [self]
        products = [dot(row, column) for row in rows for column in columns]
        shape = self.shape[:-1] + other.shape[1:]
        return SmallArray(shape, products) if shape else products[0]


def vector(*numbers: Any) -> SmallArray:
    """A vector of numbers."""
    return SmallArray((len(numbers),), numbers)


def matrix(*rows: Any) -> SmallArray:
    """A matrix of rows, which are vectors or tuples of numbers."""
    items = [tuple(row) for row in rows]
    return SmallArray((len(items), len(items[0])), [each for row in items for each in row])


def blocks(*rows: tuple[SmallArray, ...]) -> SmallArray:
    """A matrix of rows of matrices."""
    return matrix(*(joined(*parts) for row in rows for parts in zip(*row, strict=True)))


def joined(*vectors: Any) -> SmallArray:
    """Vectors and numbers, one after another, as one vector."""
    return vector(*(each for part in vectors for each in (part.items if isinstance(part, SmallArray) else [part])))


def identity(size: int) -> SmallArray:
    """The unit matrix."""
    return SmallArray((size, size), [float(i == j) for i in range(size) for j in range(size)])


def dot(a: SmallArray, b: SmallArray) -> Any:
    """a . b."""
    if _shape(a) != _shape(b) or len(_shape(a)) != 1:
        raise ShapeError(f"dot of {_shape(a)} and {_shape(b)}: wanted two vectors of equal length")
    first, *others = map(operator.mul, a.items, b.items)
    return sum(others, start=first)


def cross(a: SmallArray, b: SmallArray) -> SmallArray:
    """a x b."""
    if _shape(a) != (3,) or _shape(b) != (3,):
        raise ShapeError(f"cross of {_shape(a)} and {_shape(b)}: wanted two vectors of three")
    (a1, a2, a3), (b1, b2, b3) = a.items, b.items
    return vector(a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1)


def scaled(a: SmallArray, b: SmallArray) -> SmallArray:
    """Products of the entries of two arrays of one shape."""
    result: SmallArray = a.paired(b, "scaled by", operator.mul)
    return result


def skew(a: SmallArray) -> SmallArray:
    """The matrix a~ with a~ b = a x b."""
    if _shape(a) != (3,):
        raise ShapeError(f"skew of {_shape(a)}: wanted a vector of three")
    x, y, z = a.items
    return matrix((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0))


def outer(a: SmallArray, b: SmallArray) -> SmallArray:
    """a b^T."""
    return SmallArray((len(a), len(b)), [x * y for x in a.items for y in b.items])


def zeros_like(x: Any) -> Any:
    """Zeros of the shape of x, with as many changes."""
    return 0.0 * x


def value(x: Any) -> Any:
    """A number or array without its changes."""
    return SmallArray(x.shape, map(value, x.items)) if isinstance(x, SmallArray) else Dual(as_dual(x).value)


def implicit(x: Any, residual: Callable[[Any], Any], solve: Callable[[Any], Any]) -> Any:
    """The root x of a residual, found by any iteration, with its changes: one step of Newton's method in duals.

    x : its value counts alone. solve : the residual's derivative by x at the root, solved for a right-hand side. It may
    have changes: they multiply the residual, which is zero.
    """
    root = value(x)
    return root - solve(residual(root))


def lift(result: Any, *slopes: Any) -> Dual:
    """A function's value at numbers x: pairs (derivative by x, x) alone give it its changes, and its complex step."""
    value = np.real(result) if is_number(result) else np.real(result.value) if is_number(result.value) else result.value
    for slope, x in slopes:
        step = np.imag(as_dual(x).value) if np.iscomplexobj(as_dual(x).value) else 0.0
        value = _plus(value, _times(1j * step, as_dual(slope).value) if np.any(step) else 0.0)
    return _chained(value, *slopes)


def _chained(result: Any, *slopes: Any) -> Dual:
    total = Dual(0.0)
    for slope, x in slopes:
        total = total + Dual(0.0, tuple(_times(as_dual(slope).value, each) for each in as_dual(x).changes))
    return Dual(as_dual(result).value, total.changes)


def sqrt(x: Any) -> Dual:
    """The square root of a number."""
    x = as_dual(x)
    root = _called("sqrt", x.value)
    return _chained(root, (_over(0.5, root), x))


def norm(a: SmallArray) -> Dual:
    """The length of a vector; that of a zero vector is zero, without change."""
    length = _called("sqrt", dot(value(a), value(a)).value)
    inverse = _where_positive(length, _over(1.0, length), 0.0)
    return _chained(length, *((_times(inverse, each.value), each) for each in a.items))


def sin(x: Any) -> Dual:
    """The sine of an angle."""
    x = as_dual(x)
    return _chained(_called("sin", x.value), (_called("cos", x.value), x))


def cos(x: Any) -> Dual:
    """The cosine of an angle."""
    x = as_dual(x)
    return _chained(_called("cos", x.value), (-_called("sin", x.value), x))


def atan2(y: Any, x: Any) -> Dual:
    """The angle of the point (x, y); of the origin zero, without change."""
    y, x = as_dual(y), as_dual(x)
    square = _plus(_times(x.value, x.value), _times(y.value, y.value))
    inverse = _where_positive(square, _over(1.0, square), 0.0)
    return _chained(_called("arctan2", y.value, x.value), (_times(x.value, inverse), y), (-_times(y.value, inverse), x))


def exp(x: Any) -> Dual:
    """The exponential of a number."""
    x = as_dual(x)
    result = _called("exp", x.value)
    return _chained(result, (result, x))


def log(x: Any) -> Dual:
    """The natural logarithm of a number."""
    x = as_dual(x)
    return _chained(_called("log", x.value), (_over(1.0, x.value), x))


def minimum(x: Any, y: Any) -> Dual:
    """The smaller of two numbers; of equal ones the first."""
    return _chosen(as_dual(x) - as_dual(y), y, x)


def maximum(x: Any, y: Any) -> Dual:
    """The larger of two numbers; of equal ones the first."""
    return _chosen(as_dual(y) - as_dual(x), y, x)


def _chosen(test: Dual, x: Any, y: Any) -> Dual:
    x, y = as_dual(x), as_dual(y)
    changes = _pairs(x, y, lambda dx, dy: _where_positive(test.value, dx, dy))
    return Dual(_where_positive(test.value, x.value, y.value), changes)
