"""A compass needle: what the page of adding a load says of it."""

import numpy as np

import femb

m, b, J = 2.0, 5e-5, 0.01
model = femb.Model("compass")
model.add(femb.RigidBody("needle", mass=0.1, inertia=J, euler_angles=(0.0, 0.0, 0.3)))
model.add(femb.MagneticTorque("earth", "needle", moment=(m, 0.0, 0.0), field=(b, 0.0, 0.0)))
results = femb.simulate(model, duration=200.0, rtol=1e-9)

psi = results.bodies["needle"].euler_angles()[:, 2]
omega = results.bodies["needle"].angular_velocity[:, 2]
torque = results.loads["earth"].torque[:, 2]
np.testing.assert_allclose(torque, -m * b * np.sin(psi), atol=1e-10)
np.testing.assert_allclose(0.5 * J * omega**2 - m * b * np.cos(psi), -m * b * np.cos(0.3), atol=1e-10)
np.testing.assert_allclose(results.audit.work, m * b * (np.cos(psi) - np.cos(0.3)), atol=1e-9)
assert np.ptp(psi) > 0.59

still = femb.Model("compass")
still.add(femb.RigidBody("needle", mass=0.1, inertia=J))
still.add(model.loads["earth"])
frequencies = np.abs(np.linalg.eigvals(femb.linearize(still).A).imag)
np.testing.assert_allclose(frequencies.max(), np.sqrt(m * b / J), rtol=1e-9)
