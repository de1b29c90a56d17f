"""Leaner code for what kernels consist of: entries and rows of arrays, loops over ranges, calls, and small arrays.

numba writes forty instructions of LLVM for an entry of an array and eighty for a loop: it stores the description of the
array in memory, reads each part back, and LLVM finds that none of it is needed. That took a quarter of the time of a
compilation. Here the parts of arrays, tuples and ranges remain values, so that an entry takes five instructions and a
loop ten. The arithmetic is numba's. LLVM unrolls loops whose number of passes is known, and no others.

Arrays of a known size that a kernel makes once, before its loops, are on the stack. A kernel without others counts no
references to arrays and allocates nothing when it is called.

``LeanLowering`` is a pass in place of numba's; its subclass of numba's ``Lower`` leaves all else to numba.
"""

import math
import sys
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.core import ir as statements
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs, must_use_alloca
from numba.core.callconv import RETCODE_NONE, RETCODE_OK, CPUCallConv, Status
from numba.core.compiler_machinery import register_pass
from numba.core.cpu import CPUContext
from numba.core.ir_utils import get_definition, guard
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering
from numba.core.types.containers import BaseTuple
from numba.core.typing import signature
from numba.np.arrayobj import load_item, store_item

from femb.numerics.compiler.array_parts import DATA, MEMINFO, PARENT, SHAPE, STRIDES, put_together, view

# Of arrays on the stack of one kernel, in bytes: threads may have no more than some 500,000.
LARGEST_STACK = 65536 if sys.platform != "win32" else 0
# Functions that make arrays; the first two may have theirs on the stack.
MAKERS = (np.empty, np.zeros, np.empty_like, np.zeros_like, np.eye, np.copy)
# numba keeps larger constant arrays outside the code.
LARGEST_CONSTANT = 10**6

_WORD = ir.IntType(64)
_ZERO, _ONE = ir.Constant(_WORD, 0), ir.Constant(_WORD, 1)


def _is_integer(value: Any, number: int) -> bool:
    return isinstance(value, ir.Constant) and isinstance(value.type, ir.IntType) and value.constant == number


class LeanBuilder(ir.IRBuilder):  # type: ignore[misc]
    """Builder that knows the parts of values that were put together, and writes no products by 1 and sums with 0."""

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        """A part of a value."""
        places = list(idx) if isinstance(idx, (tuple, list)) else [idx]
        while places:
            if isinstance(agg, ir.Constant) and isinstance(agg.constant, (list, tuple)):
                agg = agg.constant[places.pop(0)]
            elif isinstance(agg, ir.instructions.InsertValue):
                put = list(agg.indices)
                if places[: len(put)] == put:
                    agg, places = agg.value, places[len(put) :]
                elif put[: len(places)] == places:
                    break  # only a part of it was put there
                else:
                    agg = agg.aggregate
            else:
                break
        return super().extract_value(agg, places, name) if places else agg

    def mul(self, lhs: Any, rhs: Any, name: str = "", flags: Any = ()) -> Any:
        """A product of integers."""
        if _is_integer(lhs, 1):
            return rhs
        return lhs if _is_integer(rhs, 1) else super().mul(lhs, rhs, name, flags)

    def add(self, lhs: Any, rhs: Any, name: str = "", flags: Any = ()) -> Any:
        """A sum of integers."""
        if _is_integer(lhs, 0):
            return rhs
        return lhs if _is_integer(rhs, 0) else super().add(lhs, rhs, name, flags)


def _fixed(kind: Any, data: Any, shape: tuple[int, ...], width: int) -> list[Any]:
    """The parts of an array of contiguous entries of this width that nobody owns, of LLVM's type ``kind``."""
    strides = [*accumulate(shape[:0:-1], lambda stride, n: stride * n, initial=width)][::-1]
    return [
        *(ir.Constant(kind.elements[part], None) for part in (MEMINFO, PARENT)),
        *(ir.Constant(_WORD, math.prod(shape)), ir.Constant(_WORD, width), data),
        ir.Constant(kind.elements[SHAPE], [ir.Constant(_WORD, n) for n in shape]),
        ir.Constant(kind.elements[STRIDES], [ir.Constant(_WORD, n) for n in strides[: len(shape)]]),
    ]


class _LoopId(ir.values.MDValue):  # type: ignore[misc]
    """A note to LLVM that a loop is not to be unrolled where the number of its passes is not known: unrolled loops took
    a tenth of the time of a compilation, and made factors of small blocks a tenth slower."""

    def __init__(self, module: Any) -> None:
        words = [module.add_metadata(["llvm.loop.unroll.runtime.disable"])]
        super().__init__(module, words, name=str(len(module.metadata)))

    def descr(self, buf: Any) -> None:
        """Write it: LLVM tells loops apart by a reference to itself."""
        references = ", ".join(each.get_reference() for each in (self, *self.operands))
        buf += (f"distinct !{{ {references} }}", "\n")


class LeanCalls(CPUCallConv):  # type: ignore[misc]
    """Calls of kernels that pass on where an exception is written, in place of a copy, and test for one in three
    instructions."""

    def call_function(self, builder: Any, callee: Any, resty: Any, argtys: Any, args: Any, attrs: Any = None) -> Any:
        """The status and the result of a call."""
        if not isinstance(builder, LeanBuilder):
            return super().call_function(builder, callee, resty, argtys, args, attrs)
        result = cgutils.alloca_once(builder, self.get_return_type(resty).pointee)
        words = self._get_arg_packer(argtys).as_arguments(builder, args)
        code = builder.call(callee, [result, self._get_excinfo_argument(builder.function), *words], attrs=attrs or ())
        none = builder.icmp_signed("==", code, RETCODE_NONE)
        ok = builder.or_(builder.icmp_signed("==", code, RETCODE_OK), none)
        status = Status(code, ok, none, builder.not_(ok), *[None] * (len(Status._fields) - 4))
        return status, self.context.get_returned_value(builder, resty, builder.load(result))

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        """Return with the exception of a call."""
        if isinstance(builder, LeanBuilder):
            builder.ret(status.code)
        else:
            super().return_status_propagate(builder, status)


class LeanContext(CPUContext):  # type: ignore[misc]
    """numba's description of the machine, with lean calls."""

    @classmethod
    def of(cls, context: Any) -> "LeanContext":
        """A copy of numba's context."""
        made = cls.__new__(cls)
        made.__dict__.update(context.__dict__)
        return made

    @property
    def call_conv(self) -> Any:
        """The convention by which kernels are called."""
        return LeanCalls(self)


def _simple(kind: Any) -> Iterator[Any]:
    """The types in a type."""
    if isinstance(kind, BaseTuple):
        for part in kind:
            yield from _simple(part)
    else:
        yield kind


def _has_arrays(kind: Any) -> bool:
    return any(isinstance(part, types.Array) for part in _simple(kind))


def _integers(kind: Any) -> tuple[Any, ...]:
    """The types of an index of integers; empty for others."""
    parts = tuple(_simple(kind))
    return parts if all(isinstance(part, types.Integer) for part in parts) else ()


def _constant(func_ir: Any, name: Any) -> Any:
    """The number or tuple of numbers in a variable, where it is known before the kernel is called."""
    found = guard(get_definition, func_ir, name)
    if isinstance(found, statements.Expr) and found.op == "build_tuple":
        return tuple([_constant(func_ir, each) for each in found.items])
    return found.value if isinstance(found, (statements.Const, statements.Global, statements.FreeVar)) else None


def _on_stack(fndesc: Any, func_ir: Any, left: int) -> tuple[dict[int, tuple[int, ...]], bool]:
    """The calls whose arrays are on the stack, by their id, with their shapes; whether no others allocate.

    left : the bytes for them.
    """
    found: dict[int, tuple[int, ...]] = {}
    returned = others = _has_arrays(fndesc.restype)
    in_loops = {label for loop in compute_cfg_from_blocks(func_ir.blocks).loops().values() for label in loop.body}
    for label, block in func_ir.blocks.items():
        for call in block.find_exprs("call"):
            kind = fndesc.typemap[call.func.name]
            maker = getattr(kind, "typing_key", None)
            if isinstance(kind, types.BoundFunction):
                others = others or maker == "array.copy"
            if isinstance(kind, types.Dispatcher):
                others = others or _has_arrays(fndesc.calltypes[call].return_type)
            if not isinstance(kind, types.Function) or maker not in MAKERS:
                continue
            shape = _constant(func_ir, call.args[0]) if maker in MAKERS[:2] and len(call.args) == 1 else None
            shape = shape if isinstance(shape, tuple) else (shape,)
            known = all(isinstance(n, int) and n > 0 for n in shape) and not call.kws
            size = 8 * math.prod(shape) if known else left + 1
            if size > left or returned or label in in_loops:
                others = True
            else:
                found[id(call)], left = shape, left - size
    return found, bool(found) and not others


class LeanLower(Lower):  # type: ignore[misc]
    """numba's translation of a function to LLVM's language, with less for what kernels consist of."""

    largest_stack = LARGEST_STACK

    def __init__(self, context: Any, library: Any, fndesc: Any, func_ir: Any, metadata: Any = None) -> None:
        self._stack: dict[int, tuple[int, ...]] = {}
        self._constants: dict[int, Any] = {}
        self._counts: dict[str, bool] = {}
        tries = any(
            isinstance(each.value, statements.Global) and each.value.name == "mark_try_block"
            for block in func_ir.blocks.values()
            for each in block.find_insts(statements.Assign)
        )
        self.lean = not tries and func_ir.generator_info is None and not context.enable_boundscheck
        if self.lean:
            context = LeanContext.of(context)
            if context.enable_nrt:
                self._stack, alone = _on_stack(fndesc, func_ir, self.largest_stack)
                context.enable_nrt = not alone
        super().__init__(context, library, fndesc, func_ir, metadata)

    def setup_function(self, fndesc: Any) -> None:
        """Begin a function."""
        super().setup_function(fndesc)
        if self.lean:
            self.builder = LeanBuilder(self.entry_block)
            self.call_helper = self.call_conv.init_call_helper(self.builder)

    # Variables. Those with one value in the kernel are that value, others have memory. At the end of one without
    # counted references nothing happens.

    def _counted(self, name: str) -> bool:
        """Whether references to the value of a variable are counted."""
        if name not in self._counts:
            model = self.context.data_model_manager[self.typeof(name)]
            self._counts[name] = self.context.enable_nrt and model.contains_nrt_meminfo()
        return self._counts[name]

    def _find_singly_assigned_variable(self) -> None:
        """Find the variables that need no memory: beside those of one block, all that are assigned once."""
        super()._find_singly_assigned_variable()
        if not self.lean:
            return
        blocks = self.func_ir.blocks
        places: dict[str, list[Any]] = {}
        for label, block in blocks.items():
            for each in block.find_insts(statements.Assign):
                places.setdefault(each.target.name, []).append(label)
        names = {name for name, labels in places.items() if len(labels) == 1 and not self._counted(name)}
        names -= must_use_alloca(blocks)
        dominators = compute_cfg_from_blocks(blocks).dominators()
        for label, used in compute_use_defs(blocks).usemap.items():
            # blocks are translated in the order of their labels
            before = {each for each in dominators[label] if each < label}
            names -= {name for name in used & names if places[name][0] not in before}
        self._singly_assigned_vars |= names

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Set a variable."""
        if not self.lean or name in self._singly_assigned_vars or self._counted(name):
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """End a variable."""
        if not self.lean or self._counted(name):
            super().delvar(name)

    # Statements and expressions

    def lower_inst(self, inst: Any) -> Any:
        """Translate a statement."""
        if self.lean and isinstance(inst, (statements.Jump, statements.Branch)):
            again = any(self.blkmap[label].instructions for label in inst.get_targets())
            super().lower_inst(inst)
            if again:
                self.builder.block.terminator.set_metadata("llvm.loop", _LoopId(self.module))
            return None
        if self.lean and isinstance(inst, statements.StaticSetItem) and self._is_array(inst.target):
            return self.lower_setitem(inst.target, inst.index_var, inst.value, self.fndesc.calltypes[inst])
        return super().lower_inst(inst)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        """Translate an assignment."""
        constant = isinstance(inst.value, (statements.Const, statements.Global, statements.FreeVar))
        if self.lean and constant:
            if isinstance(ty, types.Dispatcher):
                return self.context.get_constant_null(ty)  # its type alone says what is called
            if type(ty) is types.Array and ty.layout == "C" and inst.value.value.nbytes <= LARGEST_CONSTANT:
                return self._constant_array(ty, inst.value.value)
        return super().lower_assign(ty, inst)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Translate an expression."""
        made = self._lean_expression(resty, expr) if self.lean else None
        return super().lower_expr(resty, expr) if made is None else made

    def _lean_expression(self, resty: Any, expr: Any) -> Any:
        """The value of an expression; None where numba shall make it."""
        op = expr.op
        if op == "call":
            if id(expr) in self._stack:
                return self._stack_array(resty, expr)
            is_range = getattr(self.typeof(expr.func.name), "typing_key", None) is range
            fits = resty == types.range_state64_type and not (expr.kws or expr.vararg)
            return self._range(resty, expr.args) if is_range and fits else None
        if op == "static_getitem" and expr.index_var is not None and self._is_array(expr.value):
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, self.fndesc.calltypes[expr])
        if op == "getattr" and expr.attr == "shape" and self._is_array(expr.value):
            return self.builder.extract_value(self.loadvar(expr.value.name), SHAPE)
        if op == "getiter" and self.typeof(expr.value.name) == types.range_state64_type:
            return self._begin_range(resty, self.loadvar(expr.value.name))
        if op == "iternext" and self.typeof(expr.value.name) == types.range_iter64_type:
            return self._next_of_range(resty, self.loadvar(expr.value.name))
        if op in ("pair_first", "pair_second"):
            part = self.builder.extract_value(self.loadvar(expr.value.name), int(op == "pair_second"))
            self.incref(resty, part)
            return part
        return None

    def _is_array(self, variable: Any) -> bool:
        return type(self.typeof(variable.name)) is types.Array

    # Arrays of known sizes

    def _constant_array(self, kind: Any, array: Any) -> Any:
        """An array that is part of the code, once for all its uses."""
        if id(array) not in self._constants:
            of = self.context.get_value_type(kind)
            content = cgutils.create_constant_array(ir.IntType(8), bytearray(array.tobytes()))
            data = cgutils.global_constant(self.builder, ".const.array.data", content)
            data.align = self.context.get_abi_alignment(self.context.get_data_type(kind.dtype))
            parts = _fixed(of, data.bitcast(of.elements[DATA]), array.shape, array.itemsize)
            self._constants[id(array)] = ir.Constant(of, parts)
        return self._constants[id(array)]

    def _stack_array(self, kind: Any, call: Any) -> Any:
        shape, entry, builder = self._stack[id(call)], self.context.get_data_type(kind.dtype), self.builder
        width = self.context.get_abi_sizeof(entry)
        with builder.goto_entry_block():
            memory = builder.alloca(ir.ArrayType(entry, math.prod(shape)))
            memory.align = 32  # as vectors of the processor have it
        data = builder.bitcast(memory, entry.as_pointer())
        if self.typeof(call.func.name).typing_key is np.zeros:
            cgutils.memset(builder, data, ir.Constant(_WORD, width * math.prod(shape)), 0)
        of = self.context.get_value_type(kind)
        return put_together(builder, of, _fixed(of, data, shape, width))

    # Loops

    def _range(self, kind: Any, args: Any) -> Any:
        """The start, stop and step of a loop."""
        parts = [self._cast_var(each, types.int64) for each in args]
        if len(parts) == 1:
            parts.insert(0, _ZERO)
        return put_together(self.builder, self.context.get_value_type(kind), [*parts, _ONE][:3])

    def _begin_range(self, kind: Any, state: Any) -> Any:
        """The place of a loop in memory: its next value, and how many are left."""
        builder = self.builder
        start, stop, step = (builder.extract_value(state, k) for k in range(3))
        if not (_is_integer(step, 1) or _is_integer(step, -1)):
            made = self.context.get_function("getiter", signature(kind, types.range_state64_type))
            return made(builder, (state,))
        following, left = cgutils.alloca_once(builder, _WORD), cgutils.alloca_once(builder, _WORD)
        builder.store(start, following)
        builder.store(builder.sub(stop, start) if _is_integer(step, 1) else builder.sub(start, stop), left)
        return put_together(builder, self.context.get_value_type(kind), (following, stop, step, left))

    def _next_of_range(self, kind: Any, iterator: Any) -> Any:
        """The next value of a loop, and whether there is one."""
        builder = self.builder
        following, step, left = (builder.extract_value(iterator, k) for k in (0, 2, 3))
        value, count = builder.load(following), builder.load(left)
        builder.store(builder.sub(count, _ONE, flags=["nsw"]), left)
        builder.store(builder.add(value, step), following)
        there = builder.icmp_signed(">", count, _ZERO)
        return put_together(builder, self.context.get_value_type(kind), (value, there))

    # Entries and rows of arrays

    def _address(self, kind: Any, array: Any, index_kind: Any, index: Any) -> Any:
        """Address of the entry or row of an array with this index of integers."""
        builder, numbers = self.builder, []
        for k, part in enumerate(_integers(index_kind)):
            number = builder.extract_value(index, k) if isinstance(index_kind, BaseTuple) else index
            number = self.context.cast(builder, number, part, types.intp if part.signed else types.uintp)
            if part.signed and not (isinstance(number, ir.Constant) and number.constant >= 0):
                # from the end, if negative
                from_end = builder.add(number, builder.extract_value(array, (SHAPE, k)))
                number = builder.select(builder.icmp_signed("<", number, _ZERO), from_end, number)
            numbers.append(number)
        place = _ZERO
        if kind.layout == "A":
            for k, number in enumerate(numbers):
                place = builder.add(place, builder.mul(number, builder.extract_value(array, (STRIDES, k))))
            return cgutils.pointer_add(builder, builder.extract_value(array, DATA), place)
        for k in range(kind.ndim):
            if not _is_integer(place, 0):
                place = builder.mul(place, builder.extract_value(array, (SHAPE, k)))
            if k < len(numbers):
                place = builder.add(place, numbers[k])
        return builder.gep(builder.extract_value(array, DATA), [place])

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Translate an entry or a part of an array."""
        kind, index_kind = self.typeof(value.name), self.typeof(index.name)
        taken = len(_integers(index_kind))
        entry = taken == getattr(kind, "ndim", 0)
        row = type(resty) is types.Array and resty == signature.return_type
        if not (self.lean and taken and self._is_array(value) and kind.layout in "CA" and (entry or row)):
            return super().lower_getitem(resty, expr, value, index, signature)
        array = self.loadvar(value.name)
        address = self._address(kind, array, index_kind, self.loadvar(index.name))
        if entry:
            return self.context.cast(
                self.builder, load_item(self.context, self.builder, kind, address), kind.dtype, resty
            )
        made = view(self.builder, self.context.get_value_type(resty), array, address, range(taken, kind.ndim))
        self.incref(resty, made)
        return made

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Translate an assignment to an entry or a part of an array."""
        kind, index_kind, value_kind = (self.typeof(each.name) for each in (target_var, index_var, value_var))
        fits = self._is_array(target_var) and kind.layout in "CA" and len(_integers(index_kind)) == kind.ndim
        if not (self.lean and fits and kind.ndim):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        address = self._address(kind, self.loadvar(target_var.name), index_kind, self.loadvar(index_var.name))
        value = self.context.cast(self.builder, self.loadvar(value_var.name), value_kind, kind.dtype)
        return store_item(self.context, self.builder, kind, value, address)


class CountingLower(LeanLower):
    """The translation with arrays that numba allocates, and counts references to."""

    largest_stack = 0


@register_pass(mutates_CFG=True, analysis_only=False)
class LeanLowering(BaseNativeLowering):  # type: ignore[misc]
    """numba's pass that translates a function to LLVM's language, with ``LeanLower``."""

    _name = "lean_lowering"
    lowering_class = LeanLower

    def run_pass(self, state: Any) -> bool:
        """Translate a function."""
        try:
            return bool(super().run_pass(state))
        except errors.NumbaRuntimeError:
            # numba allocates for something else, such as an assignment of an array to part of another
            self.lowering_class = CountingLower
            return bool(super().run_pass(state))
