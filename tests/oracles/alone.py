"""The terms of one batch of a system, evaluated alone, added to given arrays."""

import numpy as np

from femb.layout.terms import work


class Alone:
    """One batch: forces of s states (s, .), matrices of one state (size,)."""

    def __init__(self, system, batch):
        self.terms = system.evaluation.of([batch])

    def residual(self, u, q, v, a, out):
        self.terms.add_residual(u, q, v, a, out)

    def nonconservative_force(self, u, q, v, out):
        """out (s, n_v) += the forces without a potential, as they act."""
        force = np.zeros(v.shape)
        self.terms.add_residual(u, q, v, np.zeros(v.shape), force, work)
        out -= force

    def matrices(self, u, q, v, mass, damping, stiffness):
        self.terms.add_step_matrices(*(each[None] for each in (u, q, v, mass, damping, stiffness)))

    def tangent(self, u, q, v, a, damping, stiffness):
        self.terms.add_tangents(*(each[None] for each in (u, q, v, a, damping, stiffness)))

    def mass(self, q, mass):
        self.terms.add_masses(q[None], mass[None])

    def energy_momentum(self, q, v, out):
        self.terms.add_energies(np.zeros((len(q), 0)), q, v, out)

    def element_masses(self, q):
        return self.terms.element_masses(q)
