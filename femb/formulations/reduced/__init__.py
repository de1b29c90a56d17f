"""Reduced form: a tree of joints in independent speeds; docs/theory/reduced_order.md."""

from femb.formulations.joint_tree import Root
from femb.formulations.reduced.form import ReducedForm

__all__ = ["ReducedForm", "Root"]
