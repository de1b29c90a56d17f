"""Numbering: frames, degrees of freedom and rows of constraints, and the contracts of elements."""
