"""Equations of equilibrium, their solution, paths of equilibria and their stability."""
