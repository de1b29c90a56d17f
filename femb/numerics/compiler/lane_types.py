"""Values with LANES numbers, and rows of matrices in registers, as types of numba: the extension behind
``femb.numerics.compiler.lanes``.

The type and its operators use numba's documented extension points and its templates of operators; ``lanes`` uses its
array structures.
"""

import math
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, register_model

from femb.numerics.compiler.array_parts import DATA, view

LANES = 4


class _Lanes(types.Type):
    """LANES numbers."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes({LANES})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if isinstance(other, (types.Float, types.Integer)) else None


class _Condition(types.Type):
    """A truth value in every lane."""

    def __init__(self) -> None:
        super().__init__(name=f"Condition({LANES})")


NUMBERS, CONDITION = _Lanes(), _Condition()
_REGISTER, _BITS = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(ir.IntType(1), LANES)


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _REGISTER)


@register_model(_Condition)
class _ConditionModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _BITS)


def _in_all_lanes(builder: Any, value: Any) -> Any:
    first = builder.insert_element(ir.Constant(_REGISTER, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(_REGISTER, ir.Undefined), places)


@lower_cast(types.Float, _Lanes)
@lower_cast(types.Integer, _Lanes)
def _from_number(context: Any, builder: Any, kind: Any, wanted: Any, value: Any) -> Any:
    return _in_all_lanes(builder, context.cast(builder, value, kind, types.float64))


def _with_lanes(name: Any, result: Any, count: int, lowered: Any) -> None:
    """Type and code of an operator that has a value with lanes among its arguments."""

    class Operator(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            fits = all(isinstance(each, (_Lanes, types.Float, types.Integer)) for each in args)
            if kws or len(args) != count or NUMBERS not in args or not fits:
                return None
            return signature(result, *[NUMBERS] * count)

    infer_global(name)(Operator)
    lower_builtin(name, *[NUMBERS] * count)(lambda context, builder, sig, args: lowered(builder, *args))


for _name, _again, _code in (
    (operator.add, operator.iadd, "fadd"),
    (operator.sub, operator.isub, "fsub"),
    (operator.mul, operator.imul, "fmul"),
    (operator.truediv, operator.itruediv, "fdiv"),
):
    for _each in (_name, _again):
        _with_lanes(_each, NUMBERS, 2, lambda builder, x, y, code=_code: getattr(builder, code)(x, y))
for _name, _code in ((operator.lt, "<"), (operator.gt, ">"), (operator.ge, ">="), (operator.le, "<=")):
    _with_lanes(_name, CONDITION, 2, lambda builder, x, y, code=_code: builder.fcmp_ordered(code, x, y))
_with_lanes(operator.eq, CONDITION, 2, lambda builder, x, y: builder.fcmp_ordered("==", x, y))
_with_lanes(operator.ne, CONDITION, 2, lambda builder, x, y: builder.fcmp_unordered("!=", x, y))
_with_lanes(operator.neg, NUMBERS, 1, lambda builder, x: builder.fneg(x))


def _function(builder: Any, word: str, x: Any) -> Any:
    kind = ir.FunctionType(_REGISTER, [_REGISTER])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{word}.v{LANES}f64"), [x])


# the compiler has the root of a vector; sine and cosine it calls for one lane after another
for _called, _word in ((math.sqrt, "sqrt"), (math.sin, "sin"), (math.cos, "cos")):
    _with_lanes(_called, NUMBERS, 1, lambda builder, x, word=_word: _function(builder, word, x))


@intrinsic
def lanes(typingctx: Any, array: Any) -> Any:
    """View of an array (..., LANES) as an array (...) of values with LANES numbers each."""
    if not (isinstance(array, types.Array) and array.layout == "C" and array.dtype == types.float64):
        raise errors.TypingError(f"lanes: wanted a contiguous array of numbers, got {array}")
    result = types.Array(NUMBERS, array.ndim - 1, "C", readonly=not array.mutable, aligned=False)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = builder.bitcast(builder.extract_value(args[0], DATA), context.get_data_type(NUMBERS).as_pointer())
        width, kind = ir.Constant(ir.IntType(64), 8 * LANES), context.get_value_type(result)
        made = view(builder, kind, args[0], data, range(array.ndim - 1), width)
        return impl_ret_borrowed(context, builder, result, made)

    return signature(result, array), code


@intrinsic
def choose(typingctx: Any, condition: Any, x: Any, y: Any) -> Any:
    """x in the lanes where the condition holds, y in the others."""
    number = types.complex128 if isinstance(x, types.Complex) or isinstance(y, types.Complex) else types.float64
    kind = NUMBERS if condition == CONDITION else number
    test = CONDITION if condition == CONDITION else types.boolean
    return signature(kind, test, kind, kind), lambda context, builder, sig, args: builder.select(*args)


@intrinsic
def magnitude(typingctx: Any, x: Any) -> Any:
    """|x| in every lane; of a complex number the sum of its parts' sizes."""

    def size(builder: Any, part: Any) -> Any:
        return builder.call(builder.module.declare_intrinsic("llvm.fabs", [ir.DoubleType()]), [part])

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if x == NUMBERS:
            return _function(builder, "fabs", args[0])
        if not isinstance(x, types.Complex):
            return size(builder, args[0])
        z = context.make_complex(builder, x, args[0])
        return builder.fadd(size(builder, z.real), size(builder, z.imag))

    return signature(NUMBERS if x == NUMBERS else types.float64, x), code


# Bits of a whole number that is not the same in all lanes: four of them are one integer.
_BITS_OF_PLACE = 60 // LANES


@intrinsic
def place_of(typingctx: Any, x: Any) -> Any:
    """The whole number x >= 0 as an integer; where lanes differ, a negative one that has the numbers of all."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        if x != NUMBERS:
            return builder.fptosi(args[0], word)
        lanes_of = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), k)) for k in range(LANES)]
        first, *others = (builder.fptosi(each, word) for each in lanes_of)
        same, together = ir.Constant(ir.IntType(1), 1), first
        for k, each in enumerate(others, 1):
            same = builder.and_(same, builder.icmp_signed("==", each, first))
            together = builder.or_(together, builder.shl(each, ir.Constant(word, k * _BITS_OF_PLACE)))
        return builder.select(same, first, builder.not_(together))

    return signature(types.int64, x), code


@intrinsic
def is_mixed(typingctx: Any, place: Any, x: Any) -> Any:
    """Whether a ``place_of`` differs between the lanes of values such as x; never that of numbers."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if x != NUMBERS:
            return ir.Constant(ir.IntType(1), 0)
        return builder.icmp_signed("<", args[0], ir.Constant(ir.IntType(64), 0))

    return signature(types.boolean, types.int64, x), code


@intrinsic
def has_place(typingctx: Any, place: Any, number: Any, x: Any) -> Any:
    """Lanes of values such as x in which a mixed ``place_of`` is this number."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if x != NUMBERS:
            return ir.Constant(ir.IntType(1), 0)
        word, result = ir.IntType(64), ir.Constant(_BITS, ir.Undefined)
        together, mask = builder.not_(args[0]), ir.Constant(word, (1 << _BITS_OF_PLACE) - 1)
        for k in range(LANES):
            each = builder.and_(builder.lshr(together, ir.Constant(word, k * _BITS_OF_PLACE)), mask)
            same = builder.icmp_signed("==", each, args[1])
            result = builder.insert_element(result, same, ir.Constant(ir.IntType(32), k))
        return result

    return signature(CONDITION if x == NUMBERS else types.boolean, types.int64, types.int64, x), code


def places_in(lane: int, place: Any) -> Any:
    """The numbers in one lane, of an array of ``place_of``."""
    mixed = (~place >> lane * _BITS_OF_PLACE) & ((1 << _BITS_OF_PLACE) - 1)
    return np.where(place < 0, mixed, place)


@intrinsic
def every(typingctx: Any, condition: Any) -> Any:
    """Whether the condition holds in every lane."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if condition != CONDITION:
            return args[0]
        together = ir.IntType(LANES)
        return builder.icmp_unsigned("==", builder.bitcast(args[0], together), ir.Constant(together, -1))

    return signature(types.boolean, condition), code


@intrinsic
def number_at(typingctx: Any, x: Any, at: Any) -> Any:
    """Entry of an array (n,) at a place that is not negative, which numba would test: a third of a product's time."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        from numba.np.arrayobj import load_item, make_array

        array = make_array(x)(context, builder, args[0])
        return load_item(context, builder, x, builder.gep(array.data, [args[1]]))

    return signature(x.dtype, x, types.int64), code


# Rows of matrices in registers: LANES to 2 LANES numbers in vectors of the processor, without a loop over them. The
# vectors at a row's end overlap the others, so that one code serves all widths; both compute the same there.


class _Row(types.Type):
    """A row of LANES to 2 LANES numbers, real or complex; of values with lanes, which have no rows, it is empty."""

    def __init__(self, number: Any) -> None:
        self.number = number
        super().__init__(name=f"Row({number})")


@register_model(_Row)
class _RowModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.ArrayType(_REGISTER, 4 if isinstance(kind.number, types.Complex) else 2))


def _vectors(builder: Any, array: Any, at: Any, count: Any, number: Any) -> list[Any]:
    """Addresses of the vectors of a row of ``count`` numbers at an entry: from its start, and up to its end."""
    word = ir.IntType(64)
    pairs = isinstance(number, types.Complex)
    start = builder.bitcast(builder.gep(array.data, [at]), ir.DoubleType().as_pointer())
    numbers = builder.shl(count, ir.Constant(word, 1)) if pairs else count
    places = [ir.Constant(word, LANES * k) for k in range(2 if pairs else 1)]
    places += [builder.sub(numbers, ir.Constant(word, LANES * k)) for k in ((2, 1) if pairs else (1,))]
    return [builder.bitcast(builder.gep(start, [place]), _REGISTER.as_pointer()) for place in places]


def _has_rows(kind: Any) -> bool:
    """Whether rows of this type of numbers are held in registers."""
    return kind in (types.float64, types.complex128)


@intrinsic
def in_registers(typingctx: Any, x: Any, count: Any) -> Any:
    """Whether rows of this many numbers of an array (n,) are held in registers: LANES or more, real or complex."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if not _has_rows(x.dtype):
            return ir.Constant(ir.IntType(1), 0)
        return builder.icmp_signed(">=", args[1], ir.Constant(ir.IntType(64), LANES))

    return signature(types.boolean, x, types.int64), code


@intrinsic
def row_at(typingctx: Any, x: Any, at: Any, count: Any) -> Any:
    """The row of LANES to 2 LANES numbers at an entry of an array (n,)."""
    result = _Row(x.dtype)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        from numba.np.arrayobj import make_array

        row = ir.Constant(context.get_value_type(result), ir.Undefined)
        if not _has_rows(x.dtype):
            return row
        array = make_array(x)(context, builder, args[0])
        for k, address in enumerate(_vectors(builder, array, args[1], args[2], x.dtype)):
            row = builder.insert_value(row, builder.load(address, align=8), k)
        return row

    return signature(result, x, types.int64, types.int64), code


@intrinsic
def put_row(typingctx: Any, x: Any, at: Any, count: Any, row: Any) -> Any:
    """Write a row of LANES to 2 LANES numbers at an entry of an array (n,)."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        from numba.np.arrayobj import make_array

        if _has_rows(x.dtype):
            array = make_array(x)(context, builder, args[0])
            for k, address in enumerate(_vectors(builder, array, args[1], args[2], x.dtype)):
                builder.store(builder.extract_value(args[3], k), address, align=8)
        return context.get_dummy_value()

    return signature(types.none, x, types.int64, types.int64, row), code


def _times(context: Any, builder: Any, number: Any, factor: Any, vector: Any) -> Any:
    """A factor times the numbers of a vector, with the roundings of single numbers."""
    if number == types.float64:
        return builder.fmul(_in_all_lanes(builder, factor), vector)
    f = context.make_complex(builder, number, factor)
    of_real = builder.fmul(_in_all_lanes(builder, f.real), vector)
    swapped = builder.shuffle_vector(
        vector, ir.Constant(_REGISTER, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), 4), [1, 0, 3, 2])
    )
    of_imaginary = builder.fmul(_in_all_lanes(builder, f.imag), swapped)
    return builder.shuffle_vector(
        builder.fsub(of_real, of_imaginary),
        builder.fadd(of_real, of_imaginary),
        ir.Constant(ir.VectorType(ir.IntType(32), 4), [0, 5, 2, 7]),
    )


@intrinsic
def times_row(typingctx: Any, factor: Any, row: Any) -> Any:
    """A factor times a row."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        result = args[1]
        if _has_rows(row.number):
            for k in range(result.type.count):
                vector = _times(context, builder, row.number, args[0], builder.extract_value(result, k))
                result = builder.insert_value(result, vector, k)
        return result

    return signature(row, row.number, row), code


@intrinsic
def minus_row(typingctx: Any, row: Any, other: Any) -> Any:
    """The difference of two rows."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        result = args[0]
        for k in range(result.type.count):
            parts = [builder.extract_value(each, k) for each in args]
            result = builder.insert_value(result, builder.fsub(*parts), k)
        return result

    return signature(row, row, row), code
