"""The numba type of small arrays with changes, and the code that traced functions write.

A ``Small`` is a value of LLVM, [entries (1 + k) x number]: the values first, then the changes along each of k
directions. A number is float64 or has ``lanes``. LLVM sees values, never memory. ``_Register`` is a number while code
is written: its operators write instructions. To find the type of a result, a function runs with registers that write
nothing. numba sees one call in place of all statements of a traced function.
"""

import operator
from functools import partial
from inspect import Parameter
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.core.imputils import lower_builtin, lower_cast
from numba.core.typeconv import Conversion
from numba.core.types.containers import BaseNamedTuple, BaseTuple
from numba.core.types.misc import VarArg
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import lower_getattr, models, register_model

from femb.numerics.compiler import lanes
from femb.numerics.compiler.array_parts import DATA
from femb.numerics.compiler.duals import Dual, SmallArray, as_dual

if TYPE_CHECKING:
    from femb.numerics.compiler.traced import RowFunction, Traced

_DOUBLE = ir.DoubleType()
_LANES = lanes.LANES
_VECTOR = ir.VectorType(_DOUBLE, _LANES)
# the type of numbers with lanes; where there are none, float64
NUMBERS = types.float64 if lanes._TYPES is None else lanes._TYPES.NUMBERS
_WORDS = {"sqrt": "sqrt", "sin": "sin", "cos": "cos", "exp": "exp", "log": "log"}


class Small(types.Type):
    """A number (), vector (n,) or matrix (n, m) of numbers of a type, with k changes."""

    def __init__(self, shape: tuple[int, ...], k: int, base: Any) -> None:
        self.shape, self.k, self.base, self.size = shape, k, base, prod(shape)
        super().__init__(name=f"Small({shape}, {k}, {base})")

    def unify(self, typingctx: Any, other: Any) -> Any:
        """The type of a variable that is of this one and of another by turns; changes that one lacks are zero."""
        shape, k, base = _parts(other)
        if shape != self.shape or base is None:
            return None
        return Small(shape, max(k, self.k), NUMBERS if NUMBERS in (base, self.base) else self.base)

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """Whether a value of another type can be one of this."""
        shape, k, base = _parts(other)
        fits = shape == self.shape and k <= self.k and base in (self.base, types.float64)
        return Conversion.safe if fits else None


def _parts(kind: Any) -> tuple[Any, int, Any]:
    """Shape, changes and type of numbers of a type; the last is None of others."""
    if isinstance(kind, Small):
        return kind.shape, kind.k, kind.base
    if kind == NUMBERS:
        return (), 0, NUMBERS
    return (), 0, types.float64 if isinstance(kind, types.Float | types.Integer) else None


def _type_of(base: Any) -> Any:
    return _DOUBLE if base == types.float64 else _VECTOR


@register_model(Small)
class _SmallModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Small) -> None:
        super().__init__(manager, kind, ir.ArrayType(_type_of(kind.base), kind.size * (1 + kind.k)))


# Numbers while code is written


def _operation(word: str, turned: bool) -> Any:
    """An operator of registers; turned : the register is its second operand."""

    def write(self: "_Register", other: Any) -> Any:
        if isinstance(other, Dual | SmallArray):
            return NotImplemented
        numbers = [self.value, _raw(other, self.base)]
        return self._made(getattr(self.builder, word)(*(numbers[::-1] if turned else numbers)))

    return write


class _Register:
    """A number of machine code; its operators write instructions."""

    __slots__ = ("base", "builder", "value")
    __array_ufunc__ = None

    def __init__(self, builder: Any, base: Any, value: Any) -> None:
        self.builder, self.base, self.value = builder, base, value

    def _made(self, value: Any) -> "_Register":
        return _Register(self.builder, self.base, value)

    __add__, __radd__ = _operation("fadd", False), _operation("fadd", True)
    __sub__, __rsub__ = _operation("fsub", False), _operation("fsub", True)
    __mul__, __rmul__ = _operation("fmul", False), _operation("fmul", True)
    __truediv__, __rtruediv__ = _operation("fdiv", False), _operation("fdiv", True)

    def __neg__(self) -> Any:
        return self._made(self.builder.fneg(self.value))

    def call(self, word: str, *numbers: Any) -> Any:
        """A function: of vectors the compiler has some, others take one lane after another."""
        if self.builder is SILENT:
            return self
        builder, raw, kind = self.builder, [_raw(each, self.base) for each in numbers], _type_of(self.base)
        if word in _WORDS:
            name = f"llvm.{word}." + ("f64" if kind is _DOUBLE else f"v{_LANES}f64")
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name)
            return self._made(builder.call(function, raw))
        name = {"arctan2": "atan2"}[word]
        function = cgutils.insert_pure_function(builder.module, ir.FunctionType(_DOUBLE, [_DOUBLE] * len(raw)), name)
        if kind is _DOUBLE:
            return self._made(builder.call(function, raw))
        result = ir.Constant(kind, ir.Undefined)
        for lane in (ir.Constant(ir.IntType(32), k) for k in range(_LANES)):
            each = builder.call(function, [builder.extract_element(x, lane) for x in raw])
            result = builder.insert_element(result, each, lane)
        return self._made(result)

    def where_positive(self, x: Any, y: Any) -> Any:
        """x where this number is positive, y elsewhere."""
        test = self.builder.fcmp_ordered(">", self.value, _raw(0.0, self.base))
        return self._made(self.builder.select(test, _raw(x, self.base), _raw(y, self.base)))


class _Silent:
    """A builder that writes nothing: wanted is the type of a function's result."""

    def _nothing(self, *parts: Any) -> None:
        pass

    fadd = fsub = fmul = fdiv = fneg = fcmp_ordered = select = _nothing


SILENT = _Silent()


def _raw(x: Any, base: Any) -> Any:
    """A number as value of LLVM."""
    if isinstance(x, _Register):
        return x.value
    one = ir.Constant(_DOUBLE, 0.0 if x is None else float(x))
    return one if base == types.float64 else ir.Constant(_VECTOR, [one] * _LANES)


def _known(value: Any) -> float | None:
    """The number of a constant of LLVM, in every lane; None where it is not known."""
    if isinstance(value, ir.Constant):
        numbers = value.constant if isinstance(value.constant, list) else [value]
        first = numbers[0].constant
        if isinstance(first, int | float) and all(each.constant == first for each in numbers):
            return float(first)
    return None


def _number(builder: Any, base: Any, value: Any, own: Any) -> Any:
    """A number of a type as known number or as register of numbers of ``base``."""
    known = _known(value)
    if known is not None:
        return known
    if base != own:
        value = lanes._TYPES._in_all_lanes(builder, value)
    return _Register(builder, base, value)


def _base_of(kinds: Any) -> Any:
    """The type of numbers of arguments: with lanes if one has them."""
    for kind in kinds:
        if isinstance(kind, BaseTuple):
            if _base_of(kind) == NUMBERS:
                return NUMBERS
        elif _parts(kind)[2] == NUMBERS:
            return NUMBERS
    return types.float64


def _unpacked(context: Any, builder: Any, base: Any, kind: Any, value: Any) -> Any:
    """An argument as a function gets it."""
    if isinstance(kind, BaseTuple):
        values = [None if builder is SILENT else builder.extract_value(value, i) for i in range(len(kind))]
        parts = [_unpacked(context, builder, base, each, of) for each, of in zip(kind, values, strict=True)]
        return kind.instance_class(*parts) if isinstance(kind, BaseNamedTuple) else tuple(parts)
    shape, k, own = _parts(kind)
    if own is None:
        raise TypeError(
            f"an argument is {kind}; wanted a number, a small array or a tuple; rows are read by V3, M3 ..."
        )
    size = prod(shape)
    if builder is SILENT:
        numbers = [_Register(SILENT, base, None)] * (size * (1 + k))
    elif isinstance(kind, Small):
        numbers = [_number(builder, base, builder.extract_value(value, i), own) for i in range(size * (1 + k))]
    else:
        plain = own == types.float64 and _known(value) is None
        numbers = [_number(builder, base, context.cast(builder, value, kind, own) if plain else value, own)]
    changes = [None if isinstance(each, float) and each == 0.0 else each for each in numbers[size:]]
    items = [Dual(numbers[i], tuple(changes[i::size])) for i in range(size)]
    return SmallArray(shape, items) if shape else items[0]


def _result_type(base: Any, result: Any) -> Any:
    """The type of what a function returned."""
    if isinstance(result, tuple):
        kinds = [_result_type(base, each) for each in result]
        return BaseTuple.from_types(kinds, type(result) if hasattr(result, "_fields") else None)
    shape, items = (result.shape, result.items) if isinstance(result, SmallArray) else ((), [as_dual(result)])
    k = max((len(each.changes) for each in items if any(dx is not None for dx in each.changes)), default=0)
    return Small(shape, k, base) if shape or k else base


def _packed(context: Any, builder: Any, kind: Any, result: Any) -> Any:
    """The value of LLVM of what a function returned."""
    if isinstance(kind, BaseTuple):
        parts = [_packed(context, builder, each, part) for each, part in zip(kind, result, strict=True)]
        return context.make_tuple(builder, kind, parts)
    items = result.items if isinstance(result, SmallArray) else [as_dual(result)]
    if not isinstance(kind, Small):
        return _raw(items[0].value, kind)
    numbers = [each.value for each in items]
    for j in range(kind.k):
        numbers += [each.changes[j] if j < len(each.changes) else None for each in items]
    return _put_together(builder, kind, [_raw(each, kind.base) for each in numbers])


def _put_together(builder: Any, kind: Small, numbers: list[Any]) -> Any:
    made = ir.Constant(ir.ArrayType(_type_of(kind.base), len(numbers)), ir.Undefined)
    for i, each in enumerate(numbers):
        made = builder.insert_value(made, each, i)
    return made


def _typed(function: Any, kinds: Any) -> Any:
    """The type of a function's result for arguments of these types."""
    base = _base_of(kinds)
    return _result_type(base, function(*(_unpacked(None, SILENT, base, kind, None) for kind in kinds)))


def _written(function: Any, context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """The value of a function's result: writes its code."""
    base = _base_of(sig.args)
    result = function(*(_unpacked(context, builder, base, *each) for each in zip(sig.args, args, strict=True)))
    return _packed(context, builder, sig.return_type, result)


def _template(name: str, typing: Any, code: Any) -> Any:
    """numba's type of a function from what finds the signature, and what writes the code."""
    key = f"{name} {id(typing)}"
    lower_builtin(key, VarArg(types.Any))(code)
    return types.Function(type(name, (AbstractTemplate,), {"key": key, "generic": typing}))


def type_of_traced(item: "Traced") -> Any:
    """numba's type of a traced function."""
    names = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in item.signature.parameters]
    order = item.signature.replace(parameters=names)

    def typing(self: Any, args: Any, kws: Any) -> Any:
        try:
            args = order.bind(*args, **kws).args
            return signature(_typed(item.run, args), *args).replace(pysig=order)
        except TypeError as error:
            raise errors.TypingError(str(error)) from error

    return _template(item.__name__, typing, lambda *parts: _written(item.run, *parts))  # type: ignore[attr-defined]


# Rows


def _refuse_rows(name: str, kind: Any, base: Any, writes: bool) -> None:
    wanted = f"{name}: wanted a contiguous array of {base}, got {kind}; index rows from the left, x[k] or x[k, 3:]"
    if not isinstance(kind, types.Array) or kind.layout != "C" or kind.dtype != base:
        raise errors.TypingError(wanted)
    if writes and not kind.mutable:
        raise errors.TypingError(f"{name}: the array cannot be written to: {kind}")


def _address(builder: Any, array: Any, place: int, kind: Any) -> Any:
    """The place in an array that is seen as an array of numbers of a kind."""
    start = builder.bitcast(builder.extract_value(array, DATA), kind.as_pointer())
    return builder.gep(start, [ir.Constant(ir.IntType(64), place)])


def _read(shape: tuple[int, ...]) -> Any:
    def typing(self: Any, args: Any, kws: Any) -> Any:
        (row,) = args
        _refuse_rows("reader", row, NUMBERS if getattr(row, "dtype", None) == NUMBERS else types.float64, False)
        if row.ndim not in (1, len(shape)):
            raise errors.TypingError(f"reader: wanted a row, or an array of shape {shape}, got {row}")
        return signature(Small(shape, 0, row.dtype), row)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = sig.return_type
        addresses = [_address(builder, args[0], i, _type_of(kind.base)) for i in range(kind.size)]
        return _put_together(builder, kind, [builder.load(at, align=8) for at in addresses])

    return typing, code


def _writer(name: str) -> Any:
    """The code that puts or adds the values, or the changes, of a number or array."""
    adds, of_changes = name.startswith("add"), name.endswith("changes")

    def typing(self: Any, args: Any, kws: Any) -> Any:
        x, row = args
        if of_changes and not _parts(x)[1]:
            raise errors.TypingError(f"{name}: wanted a number or array with changes, got {x}")
        _refuse_rows(name, row, types.float64 if of_changes else _parts(x)[2], True)
        return signature(types.none, x, row)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        shape, k, base = _parts(sig.args[0])
        size, numbers = prod(shape), _values(builder, sig.args[0], args[0])
        written = [numbers[size * (1 + j) + i] for i in range(size) for j in range(k)] if of_changes else numbers[:size]
        for i, each in enumerate(written):
            at = _address(builder, args[1], i, _type_of(base))
            builder.store(builder.fadd(builder.load(at, align=8), each) if adds else each, at, align=8)
        return context.get_dummy_value()

    return typing, code


def _values(builder: Any, kind: Any, value: Any) -> list[Any]:
    """The values and changes of a number or array."""
    if not isinstance(kind, Small):
        return [value]
    return [builder.extract_value(value, i) for i in range(kind.size * (1 + kind.k))]


def _with_changes(x: Any, count: int) -> Any:
    shape, k, base = _parts(x)
    if base is None or k or (base == NUMBERS and base != types.float64):
        raise errors.TypingError(f"wanted plain numbers without changes, one element, got {x}")
    return Small(shape, -(-count // _LANES), NUMBERS)


def _spread_values(context: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    items = _unpacked(context, builder, NUMBERS, kind, value)
    return [_raw(each.value, NUMBERS) for each in (items.items if isinstance(items, SmallArray) else [items])]


def _unit_changes(first: int, count: int) -> Any:
    def typing(self: Any, args: Any, kws: Any) -> Any:
        kind = _with_changes(args[0], count)
        if first + kind.size > count:
            raise errors.TypingError(f"unit_changes({first}, {count}): no room for {kind.size} entries")
        return signature(kind, *args)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind, numbers = sig.return_type, _spread_values(context, builder, sig.args[0], args[0])
        for j, i in product(range(kind.k), range(kind.size)):
            ones = [float(_LANES * j + lane == first + i) for lane in range(_LANES)]
            one = [ir.Constant(_DOUBLE, each) for each in ones]
            numbers.append(one[0] if _type_of(kind.base) is _DOUBLE else ir.Constant(_VECTOR, one))
        return _put_together(builder, kind, numbers)

    return typing, code


def _changes_along(count: int) -> Any:
    def typing(self: Any, args: Any, kws: Any) -> Any:
        x, rows = args
        kind = _with_changes(x, count)
        if count % _LANES:
            raise errors.TypingError(
                f"changes_along({count}): wanted a multiple of {_LANES}; fill the rows up with zeros"
            )
        _refuse_rows("changes_along", rows, types.float64, False)
        return signature(kind, x, rows)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind, numbers = sig.return_type, _spread_values(context, builder, sig.args[0], args[0])
        for j, i in product(range(kind.k), range(kind.size)):
            at = _address(builder, args[1], kind.k * i + j, _type_of(kind.base))
            numbers.append(builder.load(at, align=8))
        return _put_together(builder, kind, numbers)

    return typing, code


def _of_one() -> Any:
    def typing(self: Any, args: Any, kws: Any) -> Any:
        shape, _, base = _parts(args[0])
        if base is None:
            raise errors.TypingError(f"of_one: wanted a number or a small array, got {args[0]}")
        return signature(Small(shape, 0, types.float64) if shape else types.float64, *args)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        numbers, first = _values(builder, sig.args[0], args[0]), ir.Constant(ir.IntType(32), 0)
        if _type_of(_parts(sig.args[0])[2]) is _VECTOR:
            numbers = [builder.extract_element(each, first) for each in numbers]
        return (
            _put_together(builder, sig.return_type, numbers[: sig.return_type.size])
            if isinstance(sig.return_type, Small)
            else numbers[0]
        )

    return typing, code


_ROWS: dict[str, Any] = {
    "read": _read,
    **{name: partial(_writer, name) for name in ("put", "add_to", "put_changes", "add_changes")},
    "unit_changes": _unit_changes,
    "changes_along": _changes_along,
    "of_one": _of_one,
}


def type_of_rows(item: "RowFunction") -> Any:
    """numba's type of a function that reads or writes rows."""
    return _template(item.name, *_ROWS[item.name](*item.numbers))


# Operators in the text of kernels: + - * / @, also with =, unary minus, entries and the transpose


def _operator(name: Any, written: Any, count: int) -> None:
    class Operator(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if not any(isinstance(each, Small) for each in args) or any(_parts(each)[2] is None for each in args):
                return None
            try:
                return signature(_typed(written, args), *args)
            except TypeError as error:
                raise errors.TypingError(str(error)) from error

    infer_global(name)(Operator)
    for kinds in ((Small, Small), (Small, types.Any), (types.Any, Small)) if count == 2 else ((Small,),):
        lower_builtin(name, *kinds)(lambda *parts: _written(written, *parts))


for _word in ("add", "sub", "mul", "truediv", "matmul"):
    for _name in (_word, f"i{_word}"):
        _operator(getattr(operator, _name), getattr(operator, _word), 2)
_operator(operator.neg, operator.neg, 1)


@infer
class _Entry(AbstractTemplate):
    key = "static_getitem"

    def generic(self, args: Any, kws: Any) -> Any:
        if not isinstance(args[0], Small):
            return None
        return signature(_typed(lambda x: x[args[1]], args[:1]), *args)


@lower_builtin("static_getitem", Small, types.Any)
def _entry(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    taken = signature(sig.return_type, sig.args[0])
    return _written(lambda x: x[args[1]], context, builder, taken, args[:1])


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Small

    def resolve_T(self, kind: Any) -> Any:
        return _typed(lambda x: x.T, (kind,))


@lower_getattr(Small, "T")
def _transposed(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    taken = signature(_typed(lambda x: x.T, (kind,)), kind)
    return _written(lambda x: x.T, context, builder, taken, (value,))


@lower_cast(Small, Small)
@lower_cast(types.Float, Small)
@lower_cast(types.Integer, Small)
@lower_cast(type(NUMBERS), Small)
def _as_other(context: Any, builder: Any, kind: Any, wanted: Any, value: Any) -> Any:
    return _packed(context, builder, wanted, _unpacked(context, builder, wanted.base, kind, value))
