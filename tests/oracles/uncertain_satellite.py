"""The reference loop for uncertain models: two panels on hinges whose axes turn with the angle of the array, a hub, and
a law of three axes with a lag. Its numbers are those of an independent program of numpy matrices."""

import numpy as np

from femb import JointEnd, JointSpringDamper, LinearLaw, Model, Revolute, RigidBody

# kg m2: of the whole, by which the gains of the law were chosen
J = np.array([2073.0 + 1.0 / 3.0, 263.0 + 1.0 / 3.0, 2136.0 + 2.0 / 3.0])
BANDWIDTH = 0.15  # rad/s


def satellite(
    left=1650.0, right=1650.0, inertia=300.0, angle=np.pi / 4, other=None, panel_mass=20.0, hub_mass=500.0, damping=10.5
):
    """The model; angle : of both arrays, rad, or with ``other`` of the left one. inertia : xx of the hub."""
    model = Model("uncertain satellite")
    model.add(RigidBody("hub", hub_mass, [[inertia, 5.0, -8.0], [5.0, 250.0, 4.0], [-8.0, 4.0, 350.0]]))
    for name, y, stiffness in (("left", 1.0, left), ("right", -1.0, right)):
        turn = angle if other is None or name == "left" else other
        axis, turned = (np.cos(turn), 0.0, -np.sin(turn)), (np.cos(0.5 * turn), 0.0, np.sin(0.5 * turn), 0.0)
        model.add(RigidBody(name, panel_mass, (500.0 / 3.0, 20.0 / 3.0, 520.0 / 3.0), quaternion=turned))
        ends = JointEnd("hub", at=(0, y, 0), axis=axis), JointEnd(name, at=(0, -5.0 * y, 0), axis=(1, 0, 0))
        model.add(Revolute(name, *ends))
        model.add(JointSpringDamper(f"{name}_spring", name, stiffness=stiffness, damping=damping))
    return model


def attitude_law(lags=(0.5,)):
    """-(J w^2 turn + 1.4 w J rate) on each axis, behind lags 1/(T s + 1), T in s."""
    poles, n = 1.0 / np.array(lags), len(lags)
    A, B, C = np.zeros((n, n)), np.zeros((n, 1)), np.zeros((1, n))
    for k, pole in enumerate(poles):
        A[k, k] = -pole
        if k:
            A[k, k - 1] = pole
    B[0, 0], C[0, -1] = poles[0], -1.0
    gains = np.hstack([np.diag(J * BANDWIDTH**2), np.diag(1.4 * BANDWIDTH * J)])
    return LinearLaw(
        "attitude", np.kron(np.eye(3), A), np.kron(np.eye(3), B) @ gains, np.kron(np.eye(3), C), np.zeros((3, 6)),
        inputs=[f"bodies.hub.{word}.{x}" for word in ("turn", "angular_velocity") for x in "xyz"],
        outputs=[f"bodies.hub.torque.{x}" for x in "xyz"],
    )  # fmt: skip


LAW = attitude_law()
BY = {
    "left": {"range": "20 %"},
    "right": {"range": "20 %"},
    "inertia": {"range": "10 %"},
    "angle": {"range": [0.0, np.pi / 2]},
}
