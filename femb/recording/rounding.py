"""Rounding of positions in the balances of a run, by the model at its start.

Coordinates that differ in their last digits have energies and forces that differ by stiffness, forces, preload and
weight times these digits. No balance can be kept better, and where nothing moves it is all there is.
"""

import numpy as np

from femb.base.types import Floats
from femb.layout.protocols import Prestressed
from femb.recording.frames import largest
from femb.results.verdicts import Rounding
from femb.system.system import System

# Last digits of a position, relative to the extent of the model (m) and to a rotation of one, and the number of states.
DIGITS, STATES = 16.0 * np.finfo(float).eps, 4


def stored_energies(system: System, u: Floats, q: Floats) -> Floats:
    """(s, b) J: the change of the potential energy by inputs, as by heat, in each batch of ``Budget.stored``."""
    stored = np.zeros((len(q), len(system.budget.stored)))
    for i, (k, _) in enumerate(system.budget.stored):
        batch = system.batches[k]
        assert isinstance(batch, Prestressed)
        batch.prestress_energy(u, q, stored[:, i])
    return stored


def rounding_at_start(system: System) -> Rounding:
    """Rounding of a system at its start. Raises what its equations raise there.

    With d the last digits of positions: of energies the changes of each part by d, of forces K d, of momenta those of
    the whole with the energy d K d / 2.
    """
    layout, q0 = system.layout, system.q0
    sizes = np.zeros(system.n_v)
    for part, size in zip(layout.numbers.groups[1][:2], (layout.extent, 1.0), strict=True):
        sizes[(part[:, None] + np.arange(3)).ravel()] = size
    sizes[layout.internal_v] = np.abs(q0[layout.internal_q])
    sizes[layout.first_order_v] = 0.0
    d = DIGITS * sizes * np.random.default_rng(0).choice(np.array([-1.0, 1.0]), (1 + STATES, system.n_v))
    d[0] = 0.0
    q = np.tile(q0, (len(d), 1))
    q += system.rates(q, d)
    system.normalise(q)
    u, v = (np.tile(x, (len(d), 1)) for x in (system.inputs_at(0.0, q0, system.v0), system.v0))
    still = np.zeros(d.shape)
    parts = np.column_stack([system.energy_momentum(q, still, u)[:, 1], stored_energies(system, u, q)])
    changes = np.abs(parts[1:] - parts[0]).max(axis=0) + DIGITS * np.abs(parts[0])
    residual = system.residual(u, q, v, still)
    force, moment = largest(system, residual[1:] - residual[0]).max(axis=0)
    energy = 0.5 * float(np.max(np.sum(np.abs(d[1:] * (residual[1:] - residual[0])), axis=1)))
    along = system.energy_momentum(q0[None], system.rigid_velocities(q0)[:1], u[:1])[0, 2:5]
    momentum = float(np.sqrt(2.0 * np.linalg.norm(along) * energy))
    return Rounding(float(changes.sum()) + energy, float(force), float(moment), momentum, momentum * layout.extent)
