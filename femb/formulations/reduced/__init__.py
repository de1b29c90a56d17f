"""Reduced form: equations of a joint tree in independent speeds; docs/theory/reduced_order.md."""

from femb.formulations.reduced.form import ReducedForm
from femb.formulations.tree_frame import Root

__all__ = ["ReducedForm", "Root"]
