"""The angular momentum of a body in results, files, tables, figures and comparisons."""

import numpy as np

import femb

model = femb.Model("tumbling")
top = model.add(femb.RigidBody("top", mass=2.0, inertia=(1.0, 2.0, 2.5), angular_velocity=(0.1, 2.0, 0.2)))
model.add(femb.PointMass("stone", mass=1.0, position=(1.0, 0.0, 0.0)))
results = femb.simulate(model, duration=5.0, rtol=1e-10, out="tumbling.h5")

momentum = results.bodies["top"].angular_momentum
np.testing.assert_allclose(momentum, np.tile([0.1, 4.0, 0.5], (len(momentum), 1)), atol=1e-7)
np.testing.assert_allclose(momentum, results.audit.angular_momentum, atol=1e-12)  # nothing else moves
assert "angular_momentum" not in results.bodies["stone"]

read = femb.Results.read("tumbling.h5")
np.testing.assert_array_equal(read.bodies["top"].angular_momentum, momentum)
femb.export_csv(read, "tables")
with open("tables/body_top.csv") as table:
    assert "angular_momentum_z [N m s]" in next(table)
femb.plot(read, "momentum.png", ["angular_momentum of top", "bodies/*/angular_momentum"])
difference = {row.quantity: row for row in femb.differences(results, read)}["angular momentum"]
assert (difference.unit, difference.largest) == ("N m s", 0.0)
