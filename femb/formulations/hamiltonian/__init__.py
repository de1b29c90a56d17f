"""Hamiltonian form: trees of rigid bodies in joint coordinates and momenta; docs/theory/hamiltonian.md.

Model -> System -> SystemTree (Tree: arrays) -> MomentumEquations (O(n) kernels) -> MomentumForm -> the steppers
"""
