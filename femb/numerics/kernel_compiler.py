"""How what is marked ``@kernel`` is compiled: by numba's passes but for those with nothing to do, and faster typing.

Kernels are loops over numbers and contiguous arrays, without closures, array expressions or contexts. The machine code
is the same, and numba works half as long before LLVM begins. See "Customizing the Compiler" in numba's manual.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types, untyped_passes
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import AnnotateTypes, NopythonRewrites, NoPythonSupportedFeatureValidation

NOTHING_TO_DO = {
    untyped_passes.FindLiterallyCalls,
    untyped_passes.InlineClosureLikes,
    untyped_passes.InlineInlinables,
    untyped_passes.LiteralPropagationSubPipelinePass,
    untyped_passes.LiteralUnroll,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.WithLifting,
    AnnotateTypes,
    NopythonRewrites,
    NoPythonSupportedFeatureValidation,
}

_operators: Any = types.Function
_overloads: dict[Any, Any] = {}


@contextmanager
def _overloads_remembered() -> Iterator[None]:
    """Choose once which overload an operator has for operands of given types.

    For every addition and every element of an array numba tries some ten overloads in turn, twice.
    """
    if "get_call_type" in vars(_operators):
        # a kernel that is called by the one being compiled
        yield
        return
    ask = _operators.get_call_type

    def get_call_type(operator: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return ask(operator, context, args, kws)
        if (operator, args) not in _overloads:
            _overloads[operator, args] = ask(operator, context, args, kws)
        return _overloads[operator, args]

    _operators.get_call_type = get_call_type
    try:
        yield
    finally:
        del _operators.get_call_type


class KernelCompiler(CompilerBase):
    """numba's compiler for kernels."""

    def define_pipelines(self) -> list[PassManager]:
        """The passes, in numba's order."""
        passes = PassManager("kernels")
        for each, purpose in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if each not in NOTHING_TO_DO:
                passes.add_pass(each, purpose)
        passes.finalize()
        return [passes]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, and those that it calls."""
        with global_compiler_lock, _overloads_remembered():
            return super().compile_extra(func)


class InnerKernel(CPUDispatcher):
    """A kernel that only kernels call: compiled without the entrance by which Python would call it."""

    def add_overload(self, cres: Any) -> None:
        """Keep a compiled version for kernels, but not among those that Python chooses from."""
        self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is called by kernels only; to call it from Python, mark it @kernel")
