"""Numbering of frames, degrees of freedom and constraint rows, and the contract of elements."""
