"""What Python prints of dataclasses with arrays."""

from dataclasses import dataclass, field

import numpy as np

from femb.base.html import Brief


@dataclass(frozen=True, eq=False)
class Example(Brief):
    name: str
    matrix: np.ndarray
    gravity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    scale: float = 1.0
    names: tuple[str, ...] = ()
    other: "Example | None" = None


def test_defaults_are_left_out_and_arrays_are_their_shapes():
    small = Example("a", np.eye(30))
    assert repr(small) == "Example(name='a', matrix=<array (30, 30)>)"
    given = Example("b", np.array([1.0, 0.25]), np.array([0, 0, -9.81]), 2.0, tuple("abcdefg"), small)
    assert repr(given) == (
        "Example(name='b', matrix=(1, 0.25), gravity=(0, 0, -9.81), scale=2.0, names=<7 entries>, "
        "other=Example(name='a', matrix=<array (30, 30)>))"
    )
    assert repr(Example("x" * 100, np.zeros(0))) == f"Example(name='{'x' * 59}..., matrix=())"


def test_subclasses_print_their_own_fields():
    @dataclass(frozen=True, eq=False)
    class More(Example):
        last: float = 0.0

    assert repr(More("c", np.zeros(2), last=3.0)) == "More(name='c', matrix=(0, 0), last=3.0)"
