import numpy as np
from femb.elements.flywheel import Flywheel

import femb


def satellite(torque=0.02, max_speed=None, law=None, rate=0.01):
    model = femb.Model("a wheel in a hub")
    model.add(femb.RigidBody("hub", 100.0, (10.0, 7.0, 12.0), angular_velocity=(rate, 0.0, 2.0 * rate)))
    model.add(Flywheel("w", body="hub", inertia=0.1, torque=torque, max_speed=max_speed))
    if law is not None:
        model.add(femb.Load("law", body="hub", torque=law, frame="body"))
    return model


results = femb.simulate(satellite(max_speed=1.0), duration=10.0, rtol=1e-9)
wheel = results.flywheels["w"]
audit = results.audit
assert np.abs(audit.energy_error).max() < 1e-9
assert np.abs(audit.angular_momentum - audit.angular_momentum[0]).max() < 1e-9
# the motor turns off at the limit, the event is in the results
(event,) = results.events
assert event.name == "flywheels.w"
assert abs(np.interp(event.time, results.time, wheel.speed) - 1.0) < 1e-2
assert wheel.power[-1] == 0.0
assert np.array_equal(results["flywheels.w.speed"], wheel.speed)
results.plot("flywheels/w/speed").savefig("speed.png")

# a law that reads the wheel, and brakes the hub by its momentum
braked = femb.simulate(satellite(law=lambda t, state: (0.0, 0.0, -0.1 * state.flywheels["w"].momentum)), duration=10.0)
assert np.all(np.isfinite(braked["w.momentum"]))

# a study over the torque
study = femb.Study(
    satellite,
    variables={"torque": {"kind": "range", "first": 0.01, "last": 0.03, "count": 3}},
    outputs={"speed": {"kind": "final", "of": "flywheels.w.speed"}},
    run={"duration": 5.0},
)
table = femb.sweep(study)
assert np.all(np.diff(table["speed"]) > 0.0)

# a linear model from the torque of the motor to speed and momentum
space = femb.linearize(
    satellite(torque=0.0, rate=0.0),
    inputs=["flywheels.w.torque"],
    outputs=["flywheels.w.speed", "flywheels.w.momentum"],
)
J, hub, s = 0.1, 12.0, 0.3j
wanted = 1.0 / (s * J * (1.0 - J / hub))
assert abs(space.transfer(s)[0, 0] - wanted) < 1e-6 * abs(wanted)
assert abs(space.transfer(s)[1, 0] - 1.0 / s) < 1e-6 / abs(s)
