"""Patterns of a case file: items that are repeated, with numbers and names that differ.

    [patterns.wing]
    count = 4                                            # {i} is 1, 2, 3, 4
    each = { side = ["left", "right"], y = [1, -1] }     # all of it for each of these
    [patterns.wing.bodies."{side} panel {i}"]
    mass = "{2.0 - 0.1*i}"
    [patterns.wing.first.joints."{side} hinge {i}"]      # in addition, for i = 1; ``last`` for i = count
    first = { body = "hub", at = [0, "{0.5*y}", 0], axis = [1, 0, 0] }

A text in braces is an expression of numbers and of the variables. A text that is one expression becomes its number.
"""

import ast
import copy
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from femb.base.errors import ModelError
from femb.base.values import LARGEST, shown, whole_number


def power(a: Any, b: Any) -> Any:
    """A real power. Raises ValueError where it is none, or too large for a case: whole ones may have any size."""
    if a and abs(b) * abs(math.log10(abs(a))) > math.log10(LARGEST):
        raise ValueError
    result = a**b
    if isinstance(result, complex):
        raise ValueError
    return result


MOST_ITEMS = 100_000
WORDS = ("count", "each", "first", "last")
EXPRESSION = re.compile(r"\{([^{}]*)\}")
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: power,
}
Variables = Mapping[str, Any]


def repeated(pattern: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Variables]]:
    """The tables of every repetition, with expressions in place, and its variables. Raises ModelError."""
    tables = {word: value for word, value in pattern.items() if word not in WORDS}
    for word, value in [*tables.items(), *((end, pattern.get(end, {})) for end in ("first", "last"))]:
        if not isinstance(value, dict):
            raise ModelError.at(
                (word,), f"got {shown(value)}, wanted tables of items, such as [patterns.NAME.bodies.NAME]"
            )
    count, each = pattern.get("count", 1), pattern.get("each", {})
    if not whole_number(count) or count < 1:
        raise ModelError.at(("count",), f"got {shown(count)}, must be a whole number of at least 1")
    groups = _groups(each)
    if count * len(groups) > MOST_ITEMS:
        raise ModelError.at(("count",), f"got {count * len(groups)} repetitions, must be at most {MOST_ITEMS}")
    for group in groups:
        for i in range(1, count + 1):
            merged = copy.deepcopy(tables)
            for end, at in (("first", 1), ("last", count)):
                if i == at:
                    merge(merged, pattern.get(end, {}))
            yield merged, {**group, "i": i, "count": count}


def _groups(each: Any) -> list[dict[str, Any]]:
    """The values of the variables of ``each``, in step."""
    if not isinstance(each, dict) or not all(isinstance(values, list) and values for values in each.values()):
        raise ModelError.at(("each",), f"got {shown(each)}, wanted lists by the names of variables")
    if len({len(values) for values in each.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(values)}" for name, values in each.items())
        raise ModelError.at(("each",), f"the lists must have as many entries as each other: {lengths}")
    return [dict(zip(each, values, strict=True)) for values in zip(*each.values(), strict=True)] or [{}]


def merge(into: dict[str, Any], tables: dict[str, Any]) -> None:
    """Put nested tables over others, key by key."""
    for key, value in tables.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


def filled(value: Any, variables: Variables, path: tuple[str, ...] = ()) -> Any:
    """A value with its expressions in place, also in nested tables and lists. Raises ModelError with their path."""
    if isinstance(value, list):
        return [filled(entry, variables, path) for entry in value]
    try:
        if isinstance(value, dict):
            names = {key: str(filled_text(key, variables)) for key in value}
        else:
            return filled_text(value, variables) if isinstance(value, str) else value
    except ModelError as error:
        raise ModelError.at(path, str(error)) from error
    return {names[key]: filled(entry, variables, (*path, key)) for key, entry in value.items()}


def filled_text(text: str, variables: Variables) -> Any:
    """A text with its expressions in place; the value itself, if the text is one expression. Raises ModelError."""
    whole = EXPRESSION.fullmatch(text)
    if whole:
        return _evaluated(whole[1], text, variables)
    return EXPRESSION.sub(lambda match: _written(_evaluated(match[1], text, variables)), text)


def _written(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _evaluated(expression: str, text: str, variables: Variables) -> Any:
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body, variables)
    except (SyntaxError, TypeError, ZeroDivisionError, OverflowError, KeyError, RecursionError, ValueError) as error:
        known = ", ".join(variables)
        raise ModelError(
            f"got {shown(text)}: {{{expression}}} is no expression of numbers and of the variables {known}"
        ) from error


def _value(node: ast.expr, variables: Variables) -> Any:
    match node:
        case ast.Constant(int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(name):
            return variables[name]
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, variables)
        case ast.BinOp(left, sign, right):
            a, b = _value(left, variables), _value(right, variables)
            if isinstance(a, int | float) and isinstance(b, int | float):
                return OPERATORS[type(sign)](a, b)
    raise ValueError
