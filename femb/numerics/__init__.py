"""Numerical tools that are independent of models: rotations, compiled kernels, elimination, Newton's iteration."""
