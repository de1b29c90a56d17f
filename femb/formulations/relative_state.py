"""Result of ``femb.relative_kinematics`` at a state."""

from dataclasses import dataclass

from femb.base.types import Floats


@dataclass(frozen=True, eq=False)
class RelativeState:
    """Kinematics and equations of motion at a state; vectors in inertial axes, of the n bodies (and beam nodes) in
    ``names``.

    position, velocity, acceleration (n, 3) : of mass centres, m, m/s, m/s2. attitude (n, 3, 3) : body to inertial.
    angular_velocity, angular_acceleration (n, 3) : rad/s, rad/s2.
    V, W (n, 3, P) : partial velocities of mass centres and partial angular velocities; V_rate, W_rate : their time
    derivatives.
    inertia (P, P) : generalized inertia. force (P,) : generalized active force with the inertia force at u' = 0;
    without drivers and latches inertia @ speed_rates = force. speeds, speed_rates (P,) : u and u', in the unit of each.
    multipliers : of the rows of drivers and latches.
    gimbal_distance : by spherical joint (and free body), |cos theta_2| of its 1-2-3 angles for "angles", 0 at lock; 1
    for other speeds, which do not lock.
    """

    names: tuple[str, ...]
    position: Floats
    attitude: Floats
    velocity: Floats
    angular_velocity: Floats
    acceleration: Floats
    angular_acceleration: Floats
    V: Floats
    W: Floats
    V_rate: Floats
    W_rate: Floats
    inertia: Floats
    force: Floats
    speeds: Floats
    speed_rates: Floats
    multipliers: Floats
    gimbal_distance: dict[str, float]
