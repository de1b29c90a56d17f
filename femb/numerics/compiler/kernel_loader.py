"""Loading of stored kernels without what their compilation needs.

Before numba loads a kernel it prepares for compilation: it imports what it knows of Python, numpy and LAPACK, which
takes longer than the start of femb itself. Machine code needs none of it, only the addresses of numba's runtime, so
with tested versions of numba kernels are loaded without it; numba prepares itself once there is something to compile.
Nor does machine code need the modules of those functions of numba, such as its ``numpy.empty``, that are part of it,
nor the bitcode beside it, from which a kernel that calls this one is compiled: numba parses it at every start, here it
is parsed when such a kernel is compiled.
"""

import io
import pickle
import sys
from functools import cache
from importlib import import_module
from typing import Any

from numba.core import caching

from femb.numerics.compiler import kernel_compiler

# What stored kernels use of numba's libraries.
LIBRARY_NAMES = (
    *("enable_object_caching", "_set_compiled_object", "_finalize_final_module"),
    *("_get_module_for_linking", "get_pointer_to_function"),
)


def _loads_alone() -> bool:
    """Whether kernels can be loaded without what compilation needs: a tested numba with the names that this takes."""
    if not kernel_compiler.KNOWN or not hasattr(getattr(caching, "FunctionCache", None), "_load_overload"):
        return False
    try:
        from llvmlite.binding import add_symbol, parse_bitcode
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import CompileResult, compile_result
        from numba.core.environment import Environment, _rebuild_env, lookup_environment
        from numba.core.runtime._nrt_python import c_helpers
    except ImportError:
        return False
    names = (
        (Environment, "_memo"),
        (CompileResult, "_reduce"),
        (getattr(caching, "CompileResultCacheImpl", None), "rebuild"),
        *((JITCodeLibrary, name) for name in LIBRARY_NAMES),
    )
    functions = (add_symbol, parse_bitcode, compile_result, _rebuild_env, lookup_environment)
    return (
        all(map(callable, functions))
        and isinstance(c_helpers, dict)
        and all(hasattr(kind, name) for kind, name in names)
    )


LOADS_ALONE = _loads_alone()


@cache
def add_runtime() -> None:
    """Give the linker the addresses of numba's runtime, under the names by which machine code refers to them."""
    from llvmlite.binding import add_symbol
    from numba.core.runtime._nrt_python import c_helpers

    for name, address in c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def loaded(content: bytes) -> Any:
    """The object that numba pickled."""
    return _Unpickler(io.BytesIO(content)).load() if LOADS_ALONE else pickle.loads(content)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """The names and constants of a function in machine code; without an import of the module if it is numba's own."""
    from numba.core.environment import Environment, lookup_environment

    known = lookup_environment(name)
    if known is not None:
        return known
    # machine code that handles no Python objects uses the constants alone
    left_out = module.startswith("numba.") and module not in sys.modules
    result = Environment({"__name__": module} if left_out else vars(import_module(module)))
    result.consts[:] = constants
    result.env_name = name
    Environment._memo[name] = result
    return result


class _Unpickler(pickle.Unpickler):
    """Unpickler with ``_environment`` in place of numba's function."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


if LOADS_ALONE:
    from llvmlite.binding import parse_bitcode
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import compile_result

    class _Bitcode:
        """The bitcode of a library, for kernels that are compiled later and call it."""

        _bitcode: bytes
        _shared_module: Any

        def _get_module_for_linking(self) -> Any:
            """The parsed bitcode."""
            if self._shared_module is None:
                self._shared_module = parse_bitcode(self._bitcode)
            return self._shared_module

    class _StoredInner(_Bitcode, kernel_compiler.LinkedOnly):
        """A kernel from a file that only kernels call."""

        def __init__(self, codegen: Any, name: str, bitcode: bytes) -> None:
            super().__init__(codegen, name)
            self._bitcode, self._finalized = bitcode, True

    class _StoredLibrary(_Bitcode, JITCodeLibrary):
        """Machine code from a file, with its bitcode."""

        def __init__(self, codegen: Any, name: str, code: bytes, bitcode: bytes, entries: list[str]) -> None:
            super().__init__(codegen, name)
            self._bitcode, self._entries = bitcode, entries
            self.enable_object_caching()
            self._set_compiled_object(code)
            self._finalize_final_module()

        def get_pointer_to_function(self, name: str) -> int:
            """The address of an entry; 0 if the library has none of this name."""
            return self._codegen._engine.get_function_address(name) if name in self._entries else 0

    class StoredKernels(caching.CompileResultCacheImpl):
        """The stored data of a compiled kernel, and the kernel that is made of it."""

        def reduce(self, cres: Any) -> Any:
            """The parts of a kernel that are stored: all that numba stores but the text of its types."""
            library, description, environment, signature, objectmode, lifted, _, actions, others = super().reduce(cres)
            name, kind, content = library
            code, bitcode = content if kind == "object" else (b"", content)
            pointer = cres.library.get_pointer_to_function
            entries = [each for each in _entries(description) if pointer(each)]
            parts = {"environment": environment, "signature": signature, "objectmode": objectmode, "lifted": lifted}
            return (name, code, bitcode, entries), {"fndesc": description, "reload_init": actions, **parts}, others

        def rebuild(self, target_context: Any, reduced_data: Any) -> Any:
            """The kernel of these parts."""
            library, parts, others = reduced_data
            for action in parts["reload_init"]:
                action()
            codegen = target_context.codegen()
            name, code, bitcode, entries = library
            if code:
                library = _StoredLibrary(codegen, name, code, bitcode, entries)
            else:
                library, others = _StoredInner(codegen, name, bitcode), ()
            entry = target_context.get_executable(library, parts["fndesc"], parts["environment"])
            for other in others:
                codegen.set_env(other.env_name, other)
            return compile_result(
                target_context=target_context,
                typing_context=target_context.typing_context,
                library=library,
                entry_point=entry,
                type_annotation="",
                **parts,
            )

    def _entries(description: Any) -> tuple[str, ...]:
        """The names of the functions by which a kernel is called."""
        return description.llvm_func_name, description.llvm_cpython_wrapper_name, description.llvm_cfunc_wrapper_name
