"""Ephemerides as the page of adding an export writes them; an interruption leaves the old files."""

import numpy as np
import pytest

import femb

model = femb.Model("flight")
model.add(femb.PointMass("stone", mass=1.0, velocity=(10.0, 0.0, 5.0)))
model.add(femb.PointMass("other", mass=1.0, position=(0.0, 3.0, 0.0)))
results = femb.simulate(model, duration=2.0)
files = femb.export_ephemeris(results, "ephemerides", every=2)
assert [file.name for file in files] == ["stone.eph", "other.eph"]
t, x, y, z, vx, vy, vz = np.loadtxt(files[0]).T
np.testing.assert_array_equal(t, results.time[::2])
np.testing.assert_allclose(x, 0.01 * t, atol=1e-12)
np.testing.assert_allclose(vz, 0.005, atol=1e-12)


def stop(done, total):
    raise KeyboardInterrupt


before = files[0].read_bytes()
with pytest.raises(KeyboardInterrupt):
    femb.export_ephemeris(results, "ephemerides", progress=stop)
assert files[0].read_bytes() == before
