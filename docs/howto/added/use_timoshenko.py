import numpy as np
from femb.elements.timoshenko import TimoshenkoBeam
from scipy.linalg import expm
from scipy.optimize import brentq

import femb
from femb.linear import linearize

L, P, EI, kGA, mass, inertia = 1.0, 0.5, 40.0, 300.0, 2.0, 0.02  # stubby: much of the deflection is shear
section = femb.Section(
    "bar", axial_stiffness=1e5, torsional_stiffness=30.0, bending_stiffness=(EI, EI),
    mass_per_length=mass, inertia_per_length=(2 * inertia, inertia, inertia),
)  # fmt: skip


def cantilever(elements, *loads):
    model = femb.Model("cantilever")
    wall = femb.Ground().at(direction=(1.0, 0.0, 0.0))
    for item in (TimoshenkoBeam("bar", section, L, (kGA, kGA), elements, start=wall), *loads):
        model.add(item)
    return model


tip = femb.Load("tip", beam="bar", node=-1, force=(0.0, P, 0.0))
for formulation in ("velocity", "quaternion", "reduced"):
    results = femb.simulate(
        cantilever(1, tip), duration=0.1, start="equilibrium", method="radau", formulation=formulation, rtol=1e-8
    )
    bar = results.beams["bar"]
    np.testing.assert_allclose(bar.deflection[:, -1, 1], P * L**3 / (3 * EI) + P * L / kGA, rtol=1e-9)
    np.testing.assert_allclose(bar.section_moment[-1, 0, 0], [0.0, 0.0, P * L], atol=1e-9)


def free_end(frequency):
    """Zero at a frequency of the clamped bar; the state is deflection, rotation, moment and shear force."""
    w2 = frequency**2
    rates = [[0, 1, 0, 1 / kGA], [0, 0, 1 / EI, 0], [0, -inertia * w2, 0, -1], [-mass * w2, 0, 0, 0]]
    return np.linalg.det(expm(L * np.array(rates))[2:, 2:])


coarse, fine = (np.abs(linearize(cantilever(n)).eigenvalues().imag).min() for n in (8, 16))
np.testing.assert_allclose(fine + (fine - coarse) / 3, brentq(free_end, 10.0, 14.0), rtol=1e-4)
