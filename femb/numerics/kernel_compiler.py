"""How kernels are compiled: by numba, faster where its inside is as femb knows it, and plainly elsewhere.

Three things go beyond numba's public interface. While a kernel is compiled, the overload that an operator has for
operands of given types is chosen once instead of at every use: a third of the time that compiling takes. Kernels that
only kernels call have no entrance from Python: an eighth of it. And by an option that numba does not document, kernels
that allocate nothing are compiled without counts of references: a third of the time of a beam's force. Where numba is
not of the versions that this was tested with, or lacks a name that is relied on, ``numba.njit`` alone compiles.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba

# Versions of numba (major, minor) that what follows was tested with, the first and the last.
TESTED = (0, 60), (0, 68)
# What a kernel can make arrays with: only what allocates needs counts of references. One that allocates by another name
# does not compile ("NRT required but not enabled"), and the name is to be added here.
ALLOCATING = {"copy", "empty", "empty_like", "eye", "zeros", "zeros_like"}
# Division by zero gives inf, as in numpy: the steppers test what they get for finiteness.
PLAIN = {"error_model": "numpy"}


def _known() -> bool:
    """Whether numba is as femb knows it; FEMB_PLAIN_NUMBA in the environment says that it is not."""
    if (
        os.environ.get("FEMB_PLAIN_NUMBA")
        or not TESTED[0] <= tuple(map(int, numba.__version__.split(".")[:2])) <= TESTED[1]
    ):
        return False
    try:
        from numba.core import types
        from numba.core.compiler import Compiler
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.registry import CPUDispatcher
    except ImportError:
        return False
    names = (types.Function, "get_call_type"), (Compiler, "compile_extra"), (CPUDispatcher, "_compile_for_args")
    return callable(global_compiler_lock) and all(hasattr(kind, name) for kind, name in names)


KNOWN = _known()


def compiled(function: Callable[..., Any]) -> Any:
    """A kernel, which numba compiles on its first call."""
    if not KNOWN:
        return numba.njit(**PLAIN)(function)
    return numba.njit(pipeline_class=KernelCompiler, **_options(function))(function)


def compiled_inside(function: Callable[..., Any]) -> Any:
    """A kernel that only kernels call; called from Python it raises where numba is as femb knows it."""
    if not KNOWN or numba.config.DISABLE_JIT:
        return compiled(function)
    options = {"nopython": True, "no_cpython_wrapper": True, **_options(function)}
    return InnerKernel(function, targetoptions=options, pipeline_class=KernelCompiler)


def _options(function: Callable[..., Any]) -> dict[str, Any]:
    allocates = bool(ALLOCATING & set(function.__code__.co_names))
    return {**PLAIN, "no_cfunc_wrapper": True, "_nrt": allocates}


if KNOWN:
    from numba.core import types
    from numba.core.compiler import Compiler
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import CPUDispatcher

    _overloads: dict[Any, Any] = {}

    @contextmanager
    def _overloads_remembered() -> Iterator[None]:
        """Choose once which overload an operator has; numba tries some ten in turn, twice, for every addition."""
        operators: Any = types.Function
        if "get_call_type" in vars(operators):
            # a kernel that is called by the one being compiled
            yield
            return
        ask = operators.get_call_type

        def get_call_type(operator: Any, context: Any, args: Any, kws: Any) -> Any:
            if kws:
                return ask(operator, context, args, kws)
            if (operator, args) not in _overloads:
                _overloads[operator, args] = ask(operator, context, args, kws)
            return _overloads[operator, args]

        operators.get_call_type = get_call_type
        try:
            yield
        finally:
            del operators.get_call_type

    class KernelCompiler(Compiler):
        """numba's compiler, with its memory for overloads."""

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
            raise TypeError(
                f"{self.py_func.__name__} is called by kernels only; to call it from Python, mark it @kernel"
            )
