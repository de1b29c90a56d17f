"""A rod that hangs on a pin in a horizontal slot: what the page of adding a joint says of it."""

import numpy as np

import femb

m, J, arm, g = 2.0, 0.3, 0.4, 9.81
model = femb.Model("rod in a slot", gravity=(0.0, 0.0, -g))
rod = model.add(femb.RigidBody("rod", mass=m, inertia=(J, J, 0.01)))
slot = femb.JointEnd("ground", axis=(1, 0, 0), reference=(0, 1, 0))  # along x, the pin along y
model.add(femb.Slot("pin", slot, rod.at((0.0, 0.0, arm)), start=(0.1, 0.5)))

for formulation in ("velocity", "quaternion"):
    results = femb.simulate(model, duration=2.0, rtol=1e-9, formulation=formulation)
    x, y, z = results.bodies["rod"].position.T
    stroke, angle = results.joints["pin"].coordinates.T
    np.testing.assert_allclose(x, x[0], atol=1e-7)
    np.testing.assert_allclose(y, 0.0, atol=1e-9)
    np.testing.assert_allclose(z, -arm * np.cos(angle), atol=1e-7)
    np.testing.assert_allclose(np.abs(stroke - x[0]), np.abs(arm * np.sin(angle)), atol=1e-7)
    assert np.ptp(angle) > 0.9
    assert np.abs(results.audit.energy_error).max() < 1e-7

small = femb.Model("rod in a slot", gravity=(0.0, 0.0, -g))
small.add(rod)
small.add(femb.Slot("pin", slot, rod.at((0.0, 0.0, arm))))
frequencies = np.abs(np.linalg.eigvals(femb.linearize(small).A).imag)
np.testing.assert_allclose(frequencies.max(), np.sqrt(m * g * arm / J), rtol=1e-9)
