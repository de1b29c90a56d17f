"""Dense linear algebra of analyses runs on one thread, and the earlier number of threads holds after them."""

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - its library, before threads are counted
from models import of_parts
from threadpoolctl import threadpool_info, threadpool_limits

from femb import Load, Model, RigidBody, Shell, linearize, simulate, static
from femb.numerics import fronts
from femb.numerics.threads import one_blas_thread
from femb.system import pattern


def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_one_thread_inside_and_the_earlier_number_after():
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == before


@pytest.mark.parametrize(("formulation", "inside"), [("reduced", {1}), ("velocity", None)])
def test_runs_with_dense_matrices_use_one_thread(formulation, inside):
    seen = []

    def force(t):
        if len(seen) < 3:
            seen.append(threads())
        return np.sin(t)

    model = Model()
    model.add(RigidBody("hub", mass=1.0, inertia=1.0))
    model.add(Load("push", body="hub", force=(1.0, 0.0, 0.0), profile=force))
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        simulate(model, duration=0.1, formulation=formulation)
        assert seen[-1] == (inside or before)
        assert threads() == before


@pytest.mark.slow
def test_factors_of_small_fronts_use_one_thread(monkeypatch):
    """Statics of a plate, whose threads would wait for each other at each of its fronts."""
    seen, add = [], fronts._add

    def watched(*parts):
        seen.append(threads())
        add(*parts)

    monkeypatch.setattr(fronts, "_add", watched)
    monkeypatch.setattr(pattern, "NET", 50)  # of a plate of few elements, too
    plate = Shell("plate", (7, 7), [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], thickness=0.01,
                  material="aluminium 6061-T6", attach={"edge4": "ground"})  # fmt: skip
    with threadpool_limits(2, user_api="blas"):
        static(of_parts(plate), steps=1)
        assert threads() != {1}
    assert seen
    assert all(each == {1} for each in seen)


def test_linear_models_use_one_thread():
    seen = []

    def force(t):
        seen.append(threads())
        return 0.0

    model = of_parts(
        RigidBody("hub", mass=1.0, inertia=1.0), Load("push", body="hub", force=(1.0, 0, 0), profile=force)
    )
    with threadpool_limits(2, user_api="blas"):
        linearize(model)
    assert seen
    assert all(each == {1} for each in seen)
