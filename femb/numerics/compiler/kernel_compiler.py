"""Compilation of kernels with numba: faster with tested versions, by plain ``numba.njit`` with others.

The search for cyclic garbage waits while a kernel is compiled, which saves a quarter of the time, and passes that find
nothing to do in kernels are left out. Other measures go beyond numba's public interface. During a compilation the
overload of an operator for given operand types is resolved once instead of at every use, which saves a third of the
compile time; numba's list of its own modules is read once, no messages of overloads that do not fit are coloured, no
calls of LLVM are noted, and variables are followed between blocks as far as machine code needs it.
LLVM optimises a kernel once, with those it calls; numba does it before they are linked and twice afterwards, with the
same results and a twentieth more time. Kernels that only kernels call are shortened, and optimised in their callers.
Entries of arrays and loops are written in few instructions, which saves a quarter (`lean_lowering`).
Kernels that only kernels call get no Python wrapper, which saves an eighth, and no machine code, since they are part
of that of their callers; numba gets them when it compiles a kernel that calls them, which saves a thirtieth of
the time of a start. An undocumented option compiles kernels that allocate nothing without reference counting, which
saves a third of the time of a beam's force. Packages that extend numba are imported only for a compilation, and numpy's
masked arrays not at all. If the version of numba was not tested, or an internal name is missing, ``numba.njit`` alone
compiles.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, update_wrapper
from importlib import import_module
from typing import Any

import numba
import numpy as np

from femb.base.errors import FembWarning
from femb.base.progress import COMPILING, announce
from femb.base.values import without_collection
from femb.base.version import is_tested, numba_line

try:
    import llvmlite.binding as llvm
    from llvmlite import ir
    from numba.core import event, postproc, transforms, types
    from numba.core.codegen import CPUCodegen, JITCodeLibrary
    from numba.core.compiler import Compiler, DefaultPassBuilder
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.compiler_machinery import PassManager
    from numba.core.cpu import CPUContext
    from numba.core.errors import termcolor
    from numba.core.postproc import PostProcessor
    from numba.core.registry import CPUDispatcher
    from numba.core.typed_passes import NativeLowering
    from numba.core.types.containers import BaseTuple
    from numba.np.numpy_support import from_dtype, map_layout
except ImportError:
    IMPORTED = False
else:
    IMPORTED = True

# Functions that allocate arrays: only kernels that call one need reference counting. A kernel that allocates with
# another function does not compile ("NRT required but not enabled"); then add the name of that function here.
ALLOCATING = {"copy", "empty", "empty_like", "eye", "zeros", "zeros_like"}
# Division by zero gives inf, as in numpy: the steppers test results for finiteness. Other threads run meanwhile.
OPTIONS = {"error_model": "numpy", "nogil": True}

# What a kernel without machine code uses of numba's libraries.
CODE_NAMES = (
    *("_finalize_dynamic_globals", "_get_module_for_linking", "get_pointer_to_function", "codegen"),
    *("_optimize_functions", "_optimize_final_module", "enable_object_caching"),
)
# Passes for closures, generators, contexts, exceptions made at run time, literal arguments and array expressions, which
# kernels do not have, and for texts that nobody reads.
NEEDLESS = {
    *("WithLifting", "InlineClosureLikes", "RewriteDynamicRaises", "MakeFunctionToJitFunction", "InlineInlinables"),
    *("FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass", "NopythonRewrites"),
    *("InlineOverloads", "AnnotateTypes", "DumpParforDiagnostics"),
}


def _known() -> bool:
    """Whether numba is a tested version with the internal names used here; FEMB_PLAIN_NUMBA=1 turns this off."""
    if os.environ.get("FEMB_PLAIN_NUMBA") or not IMPORTED or not is_tested(numba.__version__):
        return False
    names = (
        (types.Function, "get_call_type"),
        (Compiler, "compile_extra"),
        (CPUContext, "load_additional_registries"),
        (CPUCodegen, "_module_pass_manager"),
        (CPUContext, "create_cfunc_wrapper"),
        *((JITCodeLibrary, name) for name in CODE_NAMES),
        (CPUDispatcher, "_compile_for_args"),
        (CPUDispatcher, "_compilation_chain_init_hook"),
        (CPUDispatcher, "_numba_type_"),
        (CPUDispatcher, "typeof_pyval"),
        (BaseTuple, "from_types"),
        (postproc.PostProcessor, "run"),
        (postproc.PostProcessor, "_insert_var_dels"),
        (event, "start_event"),
        (event, "end_event"),
    )
    functions = (
        global_compiler_lock,
        DefaultPassBuilder.define_nopython_pipeline,
        PassManager,
        termcolor,
        from_dtype,
        map_layout,
        NativeLowering,
        postproc.VariableLifetime,
        transforms.canonicalize_cfg,
    )
    return all(map(callable, functions)) and all(hasattr(kind, name) for kind, name in names)


KNOWN = _known()
if not KNOWN and not os.environ.get("FEMB_PLAIN_NUMBA"):
    warnings.warn(
        f"{numba_line()}; kernels compile by numba's own means, and everything takes some three times as long: "
        "install a tested version, or set FEMB_PLAIN_NUMBA=1 to run so without this warning",
        FembWarning,
        stacklevel=2,
    )


def compiled(function: Callable[..., Any], has_entry: bool = False) -> Any:
    """A kernel that numba compiles on its first call; has_entry : whether kernels can call it by address."""
    if not KNOWN or numba.config.DISABLE_JIT:
        return numba.njit(**OPTIONS)(function)
    options = {"nopython": True, "no_cfunc_wrapper": not has_entry, **_options(function)}
    return Kernel(function, targetoptions=options, pipeline_class=KernelCompiler)


def compiled_inside(
    function: Callable[..., Any], kept: Callable[[Any], Any] = lambda kernel: kernel, merged: bool = False
) -> Any:
    """A kernel that only kernels call; with a tested version of numba it raises TypeError if Python calls it.

    kept : attaches its cache to it. merged : whether LLVM must put its instructions in place of every call.
    """
    if not KNOWN or numba.config.DISABLE_JIT:
        return kept(compiled(function))
    return InnerKernel(function, kept, merged)


def _options(function: Callable[..., Any]) -> dict[str, Any]:
    allocates = bool(ALLOCATING & set(function.__code__.co_names))
    return {**OPTIONS, "_nrt": allocates}


if KNOWN:
    _overloads: dict[Any, Any] = {}
    _loaded: list[Any] = []

    def words_of(kind: Any) -> int | None:
        """The number of 64-bit words of an argument in a block; None of types that blocks do not have."""
        if isinstance(kind, types.Array):
            return 5 + 2 * int(kind.ndim)
        if isinstance(kind, BaseTuple):
            counts = [None if each == types.boolean else words_of(each) for each in kind]
            return None if None in counts else sum(count for count in counts if count is not None)
        return 1 if kind in (types.float64, types.int64, types.boolean) else None

    def _add_entry(context: Any, library: Any, fndesc: Any, env: Any, call_helper: Any) -> None:
        """Add a function that takes the kernel's arguments from a block of memory, in place of numba's C function.

        All have the same signature, so that a kernel can call others by their addresses; see
        ``femb.numerics.compiler.bound_calls``. It returns the kernel's result if that is an integer, the bits of a
        number, otherwise -1; -2 after an exception.
        """
        counts = [count for count in map(words_of, fndesc.argtypes) if count is not None]
        if len(counts) < len(fndesc.argtypes):
            return
        module, word = context.create_module("entry"), ir.IntType(64)
        callee = ir.Function(
            module, context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes), fndesc.llvm_func_name
        )
        block = ir.FunctionType(word, [word.as_pointer()])
        entry = ir.Function(module, block, fndesc.llvm_cfunc_wrapper_name)
        builder, args, place = ir.IRBuilder(entry.append_basic_block("entry")), [], 0
        for kind, count in zip(fndesc.argtypes, counts, strict=True):
            at = builder.gep(entry.args[0], [ir.Constant(word, place)])
            if kind == types.boolean:
                args.append(builder.trunc(builder.load(at), ir.IntType(1)))
            else:
                args.append(builder.load(builder.bitcast(at, context.get_value_type(kind).as_pointer())))
            place += count
        status, result = context.call_conv.call_function(
            builder, callee, fndesc.restype, fndesc.argtypes, args, attrs=("noinline",)
        )
        if fndesc.restype == types.float64:
            result = builder.bitcast(result, word)
        elif fndesc.restype != types.int64:
            result = ir.Constant(word, -1)
        builder.ret(builder.select(status.is_error, ir.Constant(word, -2), result))
        library.add_ir_module(module)

    def _resolved_once(operator: Any, context: Any, args: Any, kws: Any) -> Any:
        """The overload of an operator for these operand types; numba tries some ten, twice, for every addition."""
        if kws:
            return _resolve(operator, context, args, kws)
        if (operator, args) not in _overloads:
            _overloads[operator, args] = _resolve(operator, context, args, kws)
        return _overloads[operator, args]

    def _load_once(context: Any) -> None:
        """Load what numba knows; it imports all of its modules again for many operators."""
        if not _loaded:
            _load(context)
            _loaded.append(True)
        for registry in tuple(context._registries):
            context.install_registry(registry)  # what was registered since

    def _prepare_blocks(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        """Prepare a function for the next pass, without the variables at the start of each block: generators have a use
        for them, and they take two thirds of the time."""
        function = processor.func_ir
        if function.is_generator:
            _prepare(processor, emit_dels, extend_lifetimes)
            return
        function.blocks = transforms.canonicalize_cfg(function.blocks)
        function.variable_lifetime = postproc.VariableLifetime(function.blocks)
        function.generator_info = None
        if emit_dels:
            processor._insert_var_dels(extend_lifetimes=extend_lifetimes)

    _resolve, _load, _prepare = types.Function.get_call_type, CPUContext.load_additional_registries, PostProcessor.run
    # What takes the place of numba's functions during a compilation. The last three make what nobody
    # reads: colours in messages of overloads that do not fit, and notes of the start and end of every call of LLVM.
    LEANER = (
        (types.Function, "get_call_type", _resolved_once),
        (CPUContext, "load_additional_registries", _load_once),
        (CPUContext, "create_cfunc_wrapper", _add_entry),
        (PostProcessor, "run", _prepare_blocks),
        (type(termcolor()), "_markup", lambda self, text, *style, **more: text),
        (event, "start_event", lambda kind, data=None: None),
        (event, "end_event", lambda kind, data=None, exc_details=None: None),
    )

    @contextmanager
    def _leaner() -> Iterator[None]:
        """With the functions ``LEANER``."""
        if any(vars(owner).get(name) is function for owner, name, function in LEANER):
            # this kernel is called by the one that is being compiled
            yield
            return
        before = [(owner, name, vars(owner).get(name)) for owner, name, _ in LEANER]
        try:
            for owner, name, function in LEANER:
                if hasattr(owner, name):
                    setattr(owner, name, function)
            yield
        finally:
            for owner, name, own in before:
                if own is not None:
                    setattr(owner, name, own)
                elif name in vars(owner):
                    delattr(owner, name)  # it was inherited

    @cache
    def _lowering() -> Any:
        """The pass that writes LLVM's language, imported for a compilation alone."""
        try:
            return import_module("femb.numerics.compiler.lean_lowering").LeanLowering
        except (ImportError, AttributeError):
            # another numba: its own pass takes longer
            return NativeLowering

    class KernelCompiler(Compiler):
        """numba's compiler, leaner."""

        def __init__(self, *parts: Any) -> None:
            # Stored kernels that take lanes or small arrays import what defines them. If that happened while numba
            # compiles, operators would have other types when it writes the code than when it found their overloads.
            import_module("femb.numerics.compiler.small_types")
            super().__init__(*parts)

        def define_pipelines(self) -> list[Any]:
            """numba's passes without those that kernels do not need."""
            usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes = PassManager("nopython")
            lowering = _lowering()
            for kind, text in usual.passes:
                if kind.__name__ not in NEEDLESS:
                    passes.passes.append((lowering if kind.__name__ == "NativeLowering" else kind, text))
            passes.finalize()
            return [passes]

        def compile_extra(self, func: Any) -> Any:
            """Compile a function and the functions that it calls."""
            if self.state.library is None:
                self.state.library = Code(self.state.targetctx.codegen(), func.__qualname__)
                self.state.library.enable_object_caching()
            announce(COMPILING)
            with global_compiler_lock, _leaner(), without_collection():
                return super().compile_extra(func)

    class Code(JITCodeLibrary):
        """The code of a kernel, which is optimised once, when all that it calls is part of it."""

        def _optimize_functions(self, module: Any) -> None:
            module.data_layout = self._codegen._data_layout

        def _optimize_final_module(self) -> None:
            passes = self._codegen._module_pass_manager()
            # since numba 0.62 with what made them
            manager, *maker = passes if isinstance(passes, tuple) else (passes,)
            manager.run(self._final_module, *maker)

    class LinkedOnly(Code):
        """The code of a kernel that only kernels call, for theirs: numba's representation, no machine code."""

        class _NoEnvironments:
            def set_env(self, *parts: Any) -> None:
                pass

        @property
        def codegen(self) -> Any:
            """numba sets here the objects of a function for Python's side, which this one has not."""
            return self._NoEnvironments()

        def _optimize_final_module(self) -> None:
            """Take variables out of memory and shorten the code: each caller's code is optimised with this in it."""
            new_manager, codegen = getattr(llvm, "create_new_module_pass_manager", None), self._codegen
            if new_manager is None:
                super()._optimize_final_module()
                return
            manager = new_manager()
            manager.add_sroa_pass()
            manager.add_simplify_cfg_pass()
            manager.add_instruction_combine_pass()
            manager.add_global_dead_code_eliminate_pass()  # of kernels that it calls: numba's code refers to them
            manager.run(
                self._final_module, llvm.create_pass_builder(codegen._tm, llvm.create_pipeline_tuning_options())
            )

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            """0, as for a function that is not here."""
            return 0

        def serialize_using_object_code(self) -> tuple[Any, ...]:
            """The name and the code to link; numba reads it as bitcode, too."""
            return self.name, "bitcode", self._get_module_for_linking().as_bitcode()

    class InnerCompiler(KernelCompiler):
        """The compiler of kernels that only kernels call."""

        def compile_extra(self, func: Any) -> Any:
            """Compile a function, for those that call it."""
            if self.state.library is None:
                self.state.library = LinkedOnly(self.state.targetctx.codegen(), func.__qualname__)
            return super().compile_extra(func)

    class Kernel(CPUDispatcher):
        """A kernel that takes numbers and arrays."""

        def _compilation_chain_init_hook(self) -> None:
            """Nothing: numba would import every package that registers types of its own, before it looks for machine
            code; a compilation imports them."""

        def typeof_pyval(self, val: Any) -> Any:
            """numba's type of an argument."""
            found = _type_of(val)
            if found is None:
                return super().typeof_pyval(val)
            self._types_active_call.add(found)
            return found

        def address_for(self, args: tuple[Any, ...], key: Any) -> int:
            """The address of the entry for arguments of these types, see ``_add_entry``; 0 where there is none.

            key : equal for arguments of equal types, which take longer to make.
            """
            known: dict[Any, int] = self.__dict__.setdefault("_addresses", {})
            if key not in known:
                kinds = tuple(_type_of(each) or numba.typeof(each) for each in args)
                if kinds not in self.overloads:
                    self.compile(kinds)
                made = self.overloads[kinds]
                known[key] = int(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))
            return known[key]

    def _type_of(value: Any) -> Any:
        """The type of an array of numbers, or a tuple of them and of numbers; None for others. For arrays numba's own
        test imports numpy's masked arrays, to refuse them."""
        if type(value) is np.ndarray and value.dtype.kind in "biufc":
            layout, readonly = map_layout(value), not value.flags.writeable
            return types.Array(from_dtype(value.dtype), value.ndim, layout, readonly=readonly)
        if type(value) is tuple and value:
            parts = [numba.typeof(part) if type(part) in (int, float) else _type_of(part) for part in value]
            return None if None in parts else BaseTuple.from_types(parts)
        return None

    class InnerKernel:
        """A kernel that only kernels call: compiled without a Python wrapper.

        numba asks for its type when it compiles a kernel that calls it; before, it is no more than its function, for a
        faster start.
        """

        def __init__(self, function: Callable[..., Any], kept: Callable[[Any], Any], merged: bool) -> None:
            self.py_func, self._kept, self._merged = function, kept, merged
            update_wrapper(self, function)

        @cached_property
        def _kernel(self) -> Any:
            wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
            options = {"nopython": True, **wrappers, **_options(self.py_func), "forceinline": self._merged}
            return self._kept(_Inside(self.py_func, targetoptions=options, pipeline_class=InnerCompiler))

        @property
        def _numba_type_(self) -> Any:
            return self._kernel._numba_type_

        def __call__(self, *args: Any, **kws: Any) -> Any:
            raise TypeError(
                f"{self.py_func.__name__} is called by kernels only; to call it from Python, mark it @kernel"
            )

    class _Inside(Kernel):
        """numba's side of an ``InnerKernel``."""

        def add_overload(self, cres: Any) -> None:
            """Store a compiled version for kernels, but not among those that calls from Python select."""
            self.overloads[tuple(cres.signature.args)] = cres
