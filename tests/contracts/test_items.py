"""The contract of items over the whole catalogue: its members, and the physics of the smallest model of each kind.

Identities at random states, with u the inputs held, r the residual, f the forces that do work, E the energy, p the
momentum (linear, and angular about the origin) and R the rigid velocities of everything:

    r(a) - r(0) = M a,    v.r + v.f = dE/dt,    R (r + f) = dp/dt    along q' = H v, v' = a.

The right-hand sides are differences of order 6; so are those that the exact tangent is compared with.
"""

import csv
import dataclasses
import inspect

import numpy as np
import pytest
from models import of_parts, refuses, stiff
from oracles.alone import Alone
from oracles.finite_differences import INERTIA, residual_change, slope
from oracles.modal_example import Particles
from oracles.rigid_motions import check_known_motions

import femb
from femb import elements as e
from femb.elements import registry
from femb.elements.beam.ends import BeamElements
from femb.elements.frame_forces import FrameForces
from femb.elements.item import Item
from femb.elements.joint.force_batch import CoordinateForceBatch
from femb.elements.joint.joint import Joint
from femb.elements.load.at_stations import StationForces
from femb.elements.load.line_load_batch import AlongBeams, LineLoads, LoadsAlongBeams
from femb.elements.load.mass_field import MassField
from femb.elements.marker import Attachment, JointEnd, Place, SpringEnd
from femb.elements.private_blocks import MassiveElements
from femb.elements.records import Records
from femb.elements.shell.load_batch import ShellLoads
from femb.elements.spring.batch import PairBatch
from femb.export.csv import export_csv
from femb.layout.element import Batch
from femb.layout.evaluation import Evaluation
from femb.layout.private_blocks import PrivateBlocks
from femb.numerics import rotations
from femb.numerics.compiler.bound_calls import AVAILABLE, Bound, BoundSequence, Program
from femb.pictures.words import channels
from femb.profiles import Polynomial
from femb.recording.frames import Frames
from femb.recording.record import Recorder
from femb.results.results import Results
from femb.system.bound_equations import BoundRates
from femb.system.forward import forward_each
from femb.system.system import System
from femb.vibration.completion import completed

# sections that are linear between stations, as tables of blades are
pytestmark = pytest.mark.filterwarnings("ignore:beams.* and is linear there")

TURN = rotations.exponential(np.array([0.7, -1.1, 0.4]))
SHIFT = np.array([0.3, -0.8, 1.7])
SECTION = e.Section("tube", 2e-3, (3e-4, 4e-4), 5e-4, 1.2e3, 5e3, 2e3, damping=1e-2)
SEEDS = range(2)


def model(*items, **given):
    """Two rigid bodies and items; given : words of the second body."""
    return of_parts(
        e.RigidBody("a", mass=1.0, inertia=INERTIA, center_of_mass=(0.1, 0.2, -0.1), euler_angles=(-0.5, 0.8, 0.4)),
        e.RigidBody("b", mass=1.3, inertia=INERTIA, **given),
        *items,
    )


def apart(*items):
    return model(*items, position=(1.0, 2.0, 0.5), euler_angles=(0.3, 0.4, -0.7))


def jointed(kind, *items, **words):
    first, second = JointEnd("a", at=(0.3, 0.1, 0.2), axis=(0.2, 0.4, 0.9)), JointEnd("b", at=(-0.2, 0.3, 0.1))
    return model(kind("joint", first, second, **words), *items)


def of(joint, coordinate=None):
    return e.JointCoordinate(joint, coordinate)


def geared(*items):
    """A cylindrical joint, and a universal joint to a third body."""
    end = JointEnd("c", at=(0.1, -0.2, 0.3))
    third = e.RigidBody("c", mass=0.7, inertia=INERTIA)
    other = e.Universal("other", JointEnd("b", at=(0.4, 0.2, 0.1), axis=(0.6, -0.1, 0.3)), end, start=(0.3, -0.4))
    return jointed(e.Cylindrical, third, other, *items)


def wave(c):
    return 0.2 * np.sin(c), 0.2 * np.cos(c), -0.2 * np.sin(c)


def beamed(*items):
    beam = e.Beam(
        "boom", SECTION, 1.0, 2, start=Attachment("a", (0.2, 0.0, 0.1), direction=(1.0, 0.3, 0.0)),
        end=Attachment("b", (-0.1, 0.0, 0.0)),
    )  # fmt: skip
    return model(beam, *items)


COUPLING = np.random.default_rng(6).standard_normal((6, 6))
STIFFNESS = 1e3 * (COUPLING @ COUPLING.T + 4.0 * np.eye(6))
MASS = stiff(1.0, 1.0, (1.0, 1.0), 2.0, (0.6, 0.5, 0.4), "m", mass_axis=(0.03, -0.02)).mass()


def sheared(*items, elements=2):
    """A curved and tapered beam whose sections couple everything, heated and loaded."""
    beam = e.ExactBeam(
        "boom", sections=("root", "tip"), stations=(0.0, 1.0), length=1.0, elements=elements, curvature=(0.5, 0.3, 0.8),
        start=Attachment("a", (0.2, 0.0, 0.1), direction=(1.0, 0.3, 0.0)),
    )  # fmt: skip
    sections = [
        e.Section(name, stiffness_matrix=scale * STIFFNESS, mass_matrix=scale * MASS, damping=1e-2)
        for name, scale in (("root", 1.0), ("tip", 0.4))
    ]
    pressure = e.DistributedLoad("pressure", "boom", force=((3, 1, 3), (2, 4, 1)), torque=(0.3, 0.2, 0.5), frame="body")
    sun = e.ThermalLoad("sun", "boom", strain=(0.01, 0.1, 0.2, -0.1), profile=SMOOTH)
    return model(*sections, beam, pressure, sun, *items)


ENDS = SpringEnd("a", at=(0.1, 0.2, 0.3)), SpringEnd("b", at=(-0.2, 0.1, 0.0))
AXES = SpringEnd("a"), SpringEnd("b")
SMOOTH = Polynomial((0.0, 0.3, -0.2))
POINTS = Place("a", at=(0.1, 0.2, 0.3)), Place("b", at=(-0.2, 0.1, 0.0))
SLOPES = np.array([[-1.0, 0.2, 0.1], [0.0, -0.7, 0.3], [0.4, 0.0, -0.9]])


def in_orbit(elements=2):
    """Bodies, masses, beams of both kinds and a flexible body in the field of a fast orbit."""
    mast = e.Beam("mast", "tube", 1.0, elements, start=Attachment("b", (0.1, 0.3, 0.0), direction=(0.0, 1.0, 0.3)))
    return sheared(
        SECTION, mast,
        e.PointMass("free", mass=0.3, position=(2.0, 1.0, 1.0)), e.PointMass("fixed", mass=0.4, on=POINTS[0]),
        e.FlexibleBody(
            "panel", Particles(interfaces=2).reduced(),
            start=Attachment("b", (0.2, 0.0, 0.1), direction=(1.0, 0.3, 0.0)),
        ),
        e.GravityGradient("orbit", rate=0.7, radial=(1.0, 2.0, 0.0), normal=(2.0, -1.0, 3.0), origin=(0.2, 0.1, -0.4)),
        e.GravityGradient("other", rate=0.5), elements=elements,
    )  # fmt: skip


# Its example has an offset, which presses the teeth at the start. Friction and damping change with the side of the
# teeth: without load the force has a term |x| rate, of which a difference over h at rest is off by a multiple of h.
THREAD = {"stiffness": 3.0, "damping": 0.2, "lead_angle": 0.3, "friction_coefficient": 0.1, "transition_rate": 0.5}

EXAMPLES = {
    e.RigidBody: lambda: apart(),
    e.PointMass: lambda: apart(
        e.PointMass("free", mass=0.3, position=(2.0, 1.0, 1.0)), e.PointMass("fixed", mass=0.4, on=POINTS[1])
    ),
    e.Ground: lambda: apart(e.Ground("wall", position=(3.0, 0.0, 0.0))),
    e.Section: beamed,
    e.Beam: beamed,
    e.ExactBeam: sheared,
    e.JointDriver: lambda: jointed(e.Revolute, e.JointDriver("driver", "joint", SMOOTH)),
    e.DistanceDriver: lambda: apart(e.DistanceDriver("driver", *POINTS, Polynomial((2.0, 0.3, -0.2)))),
    e.PositionDriver: lambda: apart(e.PositionDriver("driver", *POINTS, x=SMOOTH, z=SMOOTH, frame="first")),
    e.OrientationDriver: lambda: apart(e.OrientationDriver("driver", *POINTS, second_angle=SMOOTH)),
    e.Gear: lambda: geared(e.Gear("gear", of("other", "second_angle"), of("joint"), teeth=(20.0, 61.0))),
    e.Rack: lambda: geared(e.Rack("rack", of("other"), of("joint"), radius=0.3)),
    e.Screw: lambda: geared(e.Screw("screw", of("joint"), of("joint"), pitch=0.8)),
    e.Worm: lambda: geared(e.Worm("worm", of("joint"), of("other"), teeth=7.0, starts=2.0, offset=-0.4, **THREAD)),
    e.Differential: lambda: geared(e.Differential("sum", of("joint"), of("other"), of("other", "second_angle"))),
    e.Planetary: lambda: geared(
        e.Planetary("train", of("joint"), of("other"), of("other", "second_angle"), teeth=(20.0, 53.0))
    ),
    e.Coupling: lambda: geared(e.Coupling("sum", [of("joint"), of("other")], (0.7, -1.3), offset=0.0)),
    e.TableCoupling: lambda: geared(
        e.TableCoupling("cam", of("other"), of("joint", "stroke"), np.linspace(-7, 7, 8), np.arange(8.0) ** 2 / 30.0)
    ),
    e.FunctionCoupling: lambda: geared(e.FunctionCoupling("cam", of("other"), of("joint", "stroke"), wave)),
    e.Latch: lambda: jointed(e.Revolute, e.Latch("latch", "joint", time=1.0, engaged=True)),
    e.Load: lambda: apart(
        e.Load(
            "load", "a", at=(0.1, 0.0, 0.2), force=(1.0, 2.0, 3.0), torque=(0.1, 0.2, 0.3), frame="body", damping=0.2
        )
    ),
    e.Pull: lambda: apart(e.Pull("pull", *ENDS, force=1.7, profile=SMOOTH)),
    e.DistributedLoad: lambda: beamed(
        e.DistributedLoad("pressure", "boom", force=((1, 2, 3), (2, 0, 1)), torque=(0.1, 0.2, 0.0), frame="body")
    ),
    e.Drag: lambda: sheared(
        SECTION,
        e.Beam("mast", "tube", 1.0, 2, start=Attachment("b", (0.1, 0.3, 0.0), direction=(0.0, 1.0, 0.3))),
        e.Drag("air", "boom", 1.3, 0.8, coefficient=1.2, tangential_coefficient=0.3, viscous=0.2, wind=(1.0, 2.0, 0.5)),
        e.Drag("water", "mast", 2.0, 0.5, coefficient=1.1, tangential_coefficient=0.2, profile=SMOOTH),
    ),
    e.ThermalLoad: lambda: beamed(e.ThermalLoad("sun", "boom", strain=(0.01, 0.1, 0.2, -0.1), profile=SMOOTH)),
    e.JointMotor: lambda: jointed(e.Revolute, e.JointMotor("motor", "joint", force=1.3, profile=SMOOTH)),
    e.AerodynamicLoad: lambda: apart(
        e.AerodynamicLoad(
            "air",
            "b",
            at=(0.1, 0.2, 0.0),
            force=(1.0, 0.0, 2.0),
            force_by_velocity=SLOPES,
            torque_by_angular_velocity=SLOPES,
            force_by_angular_velocity=SLOPES.T,
        )
    ),
    # a rate of 1 rad/s, so far away that the gradient does not change
    e.Orbit: lambda: beamed(
        e.PointMass("free", mass=0.3, position=(2.0, 1.0, 1.0)), e.Orbit("body", (6e8, 0.0, 8e8), (0.0, 1e9, 0.0), 1e27)
    ),
    e.Thruster: lambda: beamed(
        e.Thruster(
            "t1", 0.8, (1.0, 2.0, -1.0), beam="boom", node=1, at=(0.1, 0.2, 0.0), rise_time=0.3, pulses=((0.0, 1.0),)
        ),
        e.Thruster("t2", 0.5, (1.0, 0.0, 3.0), body="b", at=(0.3, 0.2, 0.5), specific_impulse=220.0),
    ),
    e.SpringDamper: lambda: apart(e.SpringDamper("spring", *ENDS, stiffness=20.0, damping=0.7, free_length=1.0)),
    e.TorsionSpringDamper: lambda: apart(
        e.TorsionSpringDamper("spring", *AXES, axis=(0.2, 0.5, 0.8), stiffness=3.0, damping=0.4, free_angle=0.3)
    ),
    e.EulerSpringDamper: lambda: apart(
        e.EulerSpringDamper("spring", *AXES, stiffness=(2.0, 3.0, 4.0), damping=(0.1, 0.2, 0.3))
    ),
    e.JointSpringDamper: lambda: jointed(
        e.Cylindrical, e.JointSpringDamper("spring", "joint", "stroke", stiffness=5.0, damping=0.4, free=0.2)
    ),
    e.StepperMotor: lambda: jointed(
        e.Revolute,
        e.StepperMotor(
            name="motor",
            joint="joint",
            holding_torque=1.3,
            teeth=3.0,
            motion=SMOOTH,
            damping=0.2,
            harmonics=[e.DriveHarmonic(12.0, torque=0.1, phase=0.3), e.DriveHarmonic(6.0, angle=0.05)],
        ),
    ),
    e.JointFriction: lambda: jointed(
        e.Revolute, e.JointFriction("friction", "joint", coulomb=0.7, transition_rate=2.0)
    ),
    e.JointCurve: lambda: jointed(
        e.Revolute,
        e.JointCurve(
            name="curve",
            joint="joint",
            coordinates=(-4.0, -1.0, 0.5, 4.0),
            forces=(-3.0, -1.0, 2.0, 2.5),
            damping=0.2,
            snaps=[e.Snap(at=9.0, back=8.0, coordinates=(0.0, 9.0), forces=(1.0, 1.0))],
        ),
    ),
    e.JointStops: lambda: jointed(e.Revolute, e.JointStops("stops", "joint", stiffness=3.0, upper=-1.5, damping=0.2)),
    e.ModalDamping: lambda: completed(beamed(e.ModalDamping("modal", "a", ratio=(0.3, 0.2, 0.4)))),
}
EXAMPLES[e.SloshingTank] = lambda: beamed(
    e.SloshingTank(
        "fuel", 0.5, 0.2, 0.3, 2.0, beam="boom", node=1, at=(0.1, 0.2, 0.0), axis=(1, 0, 2), modes=2, damping_ratio=0.1
    ),
    e.SloshingTank("water", 0.4, 0.2, 0.3, 2.0, body="b", modes=2, model="spring", damping_ratio=0.1),
)  # fmt: skip


def exposed(*items):
    """A boom and a shell for loads of light and air."""
    corners = np.array([[0.3, 0.0, 0.0], [1.1, 0.0, 0.2], [1.1, 0.6, 0.0], [0.3, 0.6, 0.0]])
    wall = {"thickness": 0.3, "material": femb.Material(3e3, 1.2e3, 5.0)}
    sail = e.Shell("sail", (1, 2), corners=corners, frame="a", attach={"edge4": "a"}, **wall)
    tent = e.Shell("tent", (1, 3), surface={"disc": [0.5, 0.0]}, frame="b", attach={"centre": "b"}, **wall)
    return beamed(sail, tent, *items)


EXAMPLES[e.SolarPressure] = lambda: exposed(
    e.SolarPressure(
        "sun", 2.0, (0.3, 0.2, 1.0), body="b", at=(0.3, 0.2, 0.5), two_sided=True, sun=(0.2, 0.3, -0.8), specular=0.3,
        diffuse=0.2, pressure=0.7, profile=SMOOTH,
    ),
    e.SolarPressure("tent", shell="tent", sun=(0.2, -0.3, 0.8), pressure=0.4, two_sided=True),
    e.SolarPressure("sail", shell="sail", sun=(0.2, -0.3, 0.8), pressure=0.7, specular=0.5, diffuse=0.2),
    e.SolarPressure("dark", 2.0, (0.3, 0.2, 1.0), body="b", sun=(0.2, 0.3, -0.8), pressure=0.7),
    e.SolarPressure("light", 2.0, (1.0, 0.0, 0.2), beam="boom", node=1, at=(0.1, 0, 0), sun=(1, 1, 1), pressure=0.7),
)  # fmt: skip
EXAMPLES[e.PlateDrag] = lambda: exposed(
    e.PlateDrag("air", 2.0, (0.3, 0.2, 1.0), body="b", at=(0.3, 0.2, 0.5), two_sided=True, density=0.3, profile=SMOOTH),
    e.PlateDrag("sail", shell="sail", density=0.03, wind=(-9.0, 1.0, -9.0), two_sided=True, profile=SMOOTH),
    e.PlateDrag("wind", 2.0, (1.0, 0, 0), beam="boom", node=1, at=(0.1, 0, 0), density=0.3, wind=(-9.0, 1.0, 2.0)),
    e.PlateDrag("lee", 2.0, (1.0, 0, 0), body="b", density=0.3, wind=(9.0, 1.0, 2.0)),
)
EXAMPLES[e.Atmosphere] = lambda: exposed(
    e.GravityGradient("orbit", rate=0.1, mu=1e4),
    e.Atmosphere("air", density=0.3, altitude=20.0, scale_height=30.0, radius=80.0, rotation=0.05),
    e.PlateDrag("drag", 2.0, (0.3, 0.2, 1.0), body="b", at=(0.3, 0.2, 0.5), two_sided=True, profile=SMOOTH),
    e.PlateDrag("given", 2.0, (0.3, 1.0, 1.0), body="b", density=0.2, rotation=0.03, two_sided=True),
    e.PlateDrag("sail", shell="sail", wind=(-9.0, 1.0, -9.0), two_sided=True, profile=SMOOTH),
)
MAGNETIC = (
    e.MagneticTorquer("m1", (1.0, 2.0, -1.0), beam="boom", node=1, dipole=0.7, profile=SMOOTH),
    e.MagneticTorquer("m2", (1.0, 0.0, 3.0), body="b", dipole=0.5, max_dipole=1.0),
)
EXAMPLES[e.MagneticTorquer] = EXAMPLES[e.UniformField] = lambda: beamed(
    e.UniformField("lab", (0.3, -0.5, 0.8), SMOOTH), e.UniformField("more", (0.2, 0.0, 0.1)), *MAGNETIC
)
EXAMPLES[e.DipoleField] = lambda: beamed(
    e.DipoleField("dipole", strength=1e27, tilt=0.2, longitude=0.3),
    e.Orbit("body", (6e8, 0.0, 8e8), (0.0, 1e9, 0.0), 1e27),
    *MAGNETIC,
)
EXAMPLES[e.FlexibleBody] = lambda: model(
    e.FlexibleBody(
        "panel",
        Particles(interfaces=3).reduced(consistent=True),
        start=Attachment("a", (0.2, 0.0, 0.1), direction=(1.0, 0.3, 0.0)),
        interfaces={"p1": Attachment("b", (-0.1, 0.2, 0.0), direction=(0.1, 0.8, 0.3))},
    )
)
HARMONIC = e.WheelHarmonic(2.0, radial_force=0.02, axial_force=0.03, rocking_torque=0.04, axial_torque=0.05, phase=0.3)
DRY = {"coulomb": 0.2, "static": 0.3, "transition_speed": 2.0, "viscous": 0.1}
EXAMPLES[e.ReactionWheel] = lambda: apart(
    e.ReactionWheel("wheel", "a", axis=(1.0, 2.0, 2.0), spin_inertia=0.02, speed=3.0, torque=SMOOTH, **DRY),
    e.ReactionWheel(
        "disturbs", "a", axis=(1.0, 0.0, 0.1), spin_inertia=0.02, speed=-4.0, static_imbalance=0.05, torque=0.3,
        max_power=0.1,
    ),
    e.ReactionWheel(
        "rotor", "b", at=(0.1, 0.2, 0.0), axis=(1.0, 2.0, 2.0), mass=0.5, spin_inertia=0.03, transverse_inertia=0.02,
        static_imbalance=0.05, dynamic_imbalance=0.004, harmonics=[HARMONIC], speed=5.0,
    ),
)  # fmt: skip
SAMPLES = {"period": 0.5, "noise": 1e-3, "delay": 0.25, "quantum": 1e-4}
ON_A = {"body": "a", "at": (0.1, 0.2, 0.0)} | SAMPLES
TORQUE = e.Load("torquer", body="a", torque=(0.0, 0.0, 0.0), frame="body")
HINGE = {"joint": "joint"} | SAMPLES
EXAMPLES |= {
    e.AttitudeSensor: lambda: apart(e.AttitudeSensor("s", **ON_A)),
    e.StarTracker: lambda: apart(e.StarTracker("s", roll_noise=1e-3, **ON_A)),
    e.Gyro: lambda: beamed(  # a root whose axes are turned
        e.Gyro("s", beam="boom", node=0, period=0.5, angle_random_walk=1e-4, bias=0.1, integrating=True)
    ),
    e.Accelerometer: lambda: apart(e.Accelerometer("s", axes=(0.8, 0.6, 0.0, 0.0), **ON_A)),
    e.PositionSensor: lambda: apart(e.PositionSensor("s", relative_to="b", **ON_A)),
    e.SunSensor: lambda: apart(e.SunSensor("s", sun=(1.0, 2.0, 3.0), **ON_A)),
    e.Magnetometer: lambda: apart(e.UniformField("f", field=(2e-5, 0.0, 1e-5)), e.Magnetometer("s", **ON_A)),
    e.Encoder: lambda: jointed(e.Revolute, e.Encoder("s", **HINGE)),
    e.Tachometer: lambda: jointed(e.Revolute, e.Tachometer("s", **HINGE)),
    e.WheelSpeedSensor: lambda: apart(
        e.ReactionWheel("w", "a", axis=(1.0, 0.0, 0.0), spin_inertia=0.02),
        e.WheelSpeedSensor("s", wheel="w", **SAMPLES),
    ),
    e.StrainGauge: lambda: beamed(e.StrainGauge("s", "boom", station=0.7, point=(0.02, -0.03), **SAMPLES)),
    e.PDController: lambda: apart(
        TORQUE,
        e.PDController(
            "c", attitude="bodies.a", rate="bodies.a", proportional=3.0, derivative=2.0,
            outputs=("loads.torquer.torque",), period=0.5,
        ),
    ),
    e.PIDController: lambda: jointed(
        e.Revolute,
        e.JointMotor("m", joint="joint", force=0.1),
        e.PIDController(
            "c", input="joints.joint.angle", rate="joints.joint.angle rate", proportional=3.0, derivative=2.0,
            integral=0.5, setpoint=SMOOTH, outputs=("loads.m.force",), period=0.5, delay=0.2,
        ),
    ),
    e.LinearController: lambda: apart(
        e.ReactionWheel("w", "a", axis=(0.0, 0.6, 0.8), spin_inertia=0.02),
        e.LinearController(
            "c", A=[[-2.0, 1.0], [0.3, -1.0]], B=[[1.0, 0.2, 0.3], [0.4, 0.5, 0.6]], C=[[2.0, 3.0]],
            D=[[0.7, 0.8, 0.9]], inputs=("bodies.b.turn", ), outputs=("wheels.w.torque",), state=(0.1, 0.2),
        ),
    ),
    e.FilterController: lambda: apart(
        e.FilterController("c", input="bodies.a.angular_velocity", frequency=3.0),
    ),
    e.SampledController: lambda: apart(
        TORQUE,
        e.SampledController(
            "c", lambda t, y, x: (-0.1 * y, x + 1.0), inputs=("bodies.a.angular_velocity",),
            outputs=("loads.torquer.torque",), period=0.5, state=(0.0,),
        ),
    ),
}  # fmt: skip
EXAMPLES[e.ControlMomentGyro] = lambda: apart(
    e.ControlMomentGyro(
        "gyro", "a", at=(0.1, 0.2, 0.0), axis=(1.0, 2.0, 2.0), spin_inertia=0.02, speed=30.0,
        gimbal_axis=(2.0, -1.0, 0.0), gimbal_mass=0.7, gimbal_inertia=(0.05, 0.06, 0.07), gimbal_torque=SMOOTH,
        outer=e.Gimbal((0.0, 0.0, 1.0), 0.3, (0.02, 0.03, 0.04), angle=0.3, torque=0.1), **DRY,
    ),
)  # fmt: skip


def dish(*items):
    """Triangles and quadrilaterals of a coupled laminate, with the rim on one body and a named point on a joint."""
    wall = {
        "youngs_moduli": (3e3, 1e3), "shear_modulus": 4e2, "poissons_ratio": 0.2, "density": 5.0,
        "expansion": (1e-2, 3e-2),
    }  # fmt: skip
    plies = [e.Ply(0.05, angle, **wall, transverse_shear=(4e2, 3e2)) for angle in (0.3, -0.8)]
    shell = e.Shell(
        "dish", (2, 4), surface={"paraboloid": [0.8, 1.0, 0.0]}, plies=plies, offset=0.02, damping=1e-2,
        frame="a", position=(0.3, 0.2, -0.1), attach={"edge2": "a"}, points={"vertex": "centre", "half": 3},
        direction=(1.0, 2.0, 0.0),
    )  # fmt: skip
    hinge = e.Revolute("hinge", JointEnd("dish.vertex", axis=(0.0, 0.3, 1.0)), JointEnd("b", at=(-0.2, 0.3, 0.1)))
    return model(shell, hinge, *items)


EXAMPLES[e.Shell] = EXAMPLES[e.ShellPoint] = dish
EXAMPLES[e.SurfaceLoad] = lambda: dish(
    e.SurfaceLoad("gas", "dish", pressure=3.0, profile=SMOOTH),
    e.SurfaceLoad("light", "dish", force=(1.0, 2.0, 3.0)),
    e.SurfaceLoad("sun", "dish", temperature=3.0, gradient=20.0, profile=SMOOTH),
    e.SurfaceLoad("rim", "dish", edge="edge2", edge_force=(1.0, -2.0, 0.5), profile=SMOOTH),
)


def folded():
    """Two panels that are folded on each other, the first on a body, and a flap on the other body."""
    words = {"thickness": 0.3, "material": femb.Material(3e3, 1.2e3, 5.0)}
    corners = np.array([[0.3, 0.0, 0.0], [1.1, 0.0, 0.0], [1.1, 0.6, 0.0], [0.3, 0.6, 0.0]])
    panel = e.Shell("panel", (1, 2), corners=corners, frame="a", attach={"edge4": "a"}, **words)
    upper = e.Shell("upper", (1, 2), corners=corners + np.array([0.0, 0.0, 0.1]), frame="a", **words)
    flap = e.Shell("flap", (1, 1), corners=corners, frame="b", **words)
    line = {"second": {"shell": "upper", "edge": "edge2"}, "stiffness": 3.0, "damping": 0.5, "free": np.pi}
    fold = e.HingeLine("fold", {"shell": "panel", "edge": "edge2"}, **line)
    hinge = e.HingeLine("hinge", {"body": "b"}, {"shell": "flap", "edge": "edge4"}, stiffness=2.0, damping=0.3)
    return model(panel, upper, flap, fold, hinge)


def pressed():
    """Loads inside a flexible body that is on a body with its root and on another with an interface."""
    n = 8
    loads = {"load_force": [(1.0, -2.0, 0.5), (0, 0, 0)], "load_torque": [(0.3, 0.1, -0.2), (0, 0, 0)],
             "load_modal": np.random.default_rng(4).normal(size=(2, n))}  # fmt: skip
    body = dataclasses.replace(Particles(interfaces=2, modes=2).reduced(), load_names=("push", "warm"), **loads)
    panel = e.FlexibleBody("panel", body, start=Attachment("a", at=(0.2, 0.1, 0.0), direction=(1.0, 0.3, 0.0)))
    joint = e.Spherical("joint", JointEnd(f"panel.{body.interface_names[1]}"), JointEnd("b", at=(-0.2, 0.3, 0.1)))
    return model(
        panel, joint, e.ModalLoad("push", "panel", profile=SMOOTH), e.ModalLoad("w", "panel", load="warm", size=0.7)
    )


EXAMPLES[e.ModalLoad] = pressed
EXAMPLES[e.HingeLine] = folded
EXAMPLES[e.GravityGradient] = lambda: in_orbit()
EXAMPLES[e.Interface] = lambda: model(e.FlexibleBody("panel", Particles(modes=0).reduced()))
EXAMPLES |= {kind: lambda kind=kind: jointed(kind) for kind in registry.kinds() if issubclass(kind, Joint)}
EXAMPLES[e.Rotor] = lambda: beamed(e.Rotor("rotor", 3.0, (0.2, 0.9, 0.1), beams=("boom",), bodies=("b",)))
EXAMPLES[e.Bearing] = lambda: apart(
    e.Rotor("rotor", 30.0, (0.0, 0.6, 0.8), bodies=("b",)),
    e.Bearing(
        "tables", SpringEnd("b", at=(-0.2, 0.1, 0.0)), (0.2, 0.5, 0.8), housing=SpringEnd("a", at=(0.1, 0.2, 0.3)),
        kxx=(20.0, 30.0, 25.0), kxy=(3.0, 5.0, 9.0), kyx=-2.0, kyy=8.0, kzz=4.0, cxx=0.7, cxy=(0.0, 0.2, 0.1), czz=0.3,
        speeds=(0.0, 20.0, 40.0), rotor="rotor",
    ),
    e.Bearing("alike", SpringEnd("b"), (0.2, 0.5, 0.8), SpringEnd("a"), kxx=20.0, cxx=0.4),
)  # fmt: skip
EXAMPLES[e.Distance] = lambda: apart(e.Distance("joint", *POINTS))
EXAMPLES[e.Components] = lambda: apart(e.Components("joint", *POINTS, directions=((1, 0, 0), (0, 1, 1)), frame="first"))

# Kinds whose forces have directions that are fixed in inertial axes, and so do not turn with everything.
FIXED_DIRECTIONS: set[type[Item]] = {
    e.Orbit,
    e.GravityGradient,
    e.Drag,
    e.MagneticTorquer,
    e.UniformField,
    e.DipoleField,
    e.SolarPressure,
    e.PlateDrag,
    e.Atmosphere,
    e.SurfaceLoad,
    e.LinearController,  # of an attitude relative to inertial axes
}

every_kind = pytest.mark.parametrize("kind", registry.kinds(), ids=lambda kind: kind.__name__)


@pytest.fixture(scope="module")
def systems():
    """Systems by kind, made when they are first asked for."""
    found = {}

    def get(kind):
        if kind not in found:
            found[kind] = System(EXAMPLES[kind](), assemble=True)
        return found[kind]

    return get


def state(system, seed, on_constraints=False):
    """t, u, q, v and a near the start."""
    rng = np.random.default_rng(seed)
    dx, v, a = 0.2 * rng.standard_normal(system.n_v), *rng.standard_normal((2, system.n_v))
    q, t = system.q0 + system.rates(system.q0[None], dx[None])[0], 0.4
    system.normalise(q)
    u = system.inputs_at(t, q, v)
    for _ in range(2 * on_constraints):  # inputs may depend on the state
        q, v = system.projected(u, q, v)
        u = system.inputs_at(t, q, v)
    return t, u, q, v, a


def dense(system, data):
    return system.pattern.to_csc(data).toarray()[: system.n_v, : system.n_v]


def mechanical(system):
    """1 for velocities, 0 for states of sensors and controllers, whose rows are no forces (n_v,)."""
    layout, mask = system.layout, np.ones(system.n_v)
    signals = [k for k, each in enumerate(layout.internal) if each.table in ("sensors", "controllers")]
    mask[layout.internal_v[signals]] = 0.0
    return mask


def close(got, wanted, tolerance, size=1.0):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * (size + np.max(np.abs(wanted), initial=0.0)))


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == set(registry.kinds())


@every_kind
def test_members(kind, systems):
    """Those of Item, with its parameters, and no others of nearly the same name."""
    assert issubclass(kind, Item)
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert isinstance(kind.table, str)
    assert isinstance(kind.kind, str)
    for name, member in vars(Item).items():
        own = inspect.getattr_static(kind, name, None)
        if isinstance(member, staticmethod | property):
            assert isinstance(own, type(member)), name
        if name.startswith("_") or not callable(getattr(Item, name, None)):
            continue
        assert list(inspect.signature(getattr(kind, name)).parameters) == list(
            inspect.signature(getattr(Item, name)).parameters
        ), name
    item = next(item for item in systems(kind).items if type(item) is kind)
    assert isinstance(item.acts_on_attitude, bool)
    given = [getattr(item, each.name) for each in dataclasses.fields(item)]
    hosted = [value for value in given if isinstance(value, Place | Attachment) and (value.body or value.beam)]
    named = list(item.markers.values())
    assert all(any(one is other for other in named) for one in hosted), "a place that the model does not know of"
    on_joint = {"joint", "first", "sun", "coordinates"} & {each.name for each in dataclasses.fields(item)}
    assert not item.joint_coordinates or on_joint
    assert ("joint" in on_joint) == (() in item.joint_coordinates)
    assert all(isinstance(part, Item) for part in item.parts())
    made = [part for part in item.parts() if not any(part is one for one in given)]
    assert [part for part in given if isinstance(part, Item)] + made == list(item.parts())


@pytest.mark.parametrize("delay", [0.0, 0.006])
@pytest.mark.parametrize("kind", [kind for kind in registry.kinds() if kind.table == "sensors"])
def test_sensors_begin_with_the_motion_at_the_start(kind, delay):
    """Before the first reading arrives a sensor has what that one, made at the same instant, finds: scaled alone."""
    words = {"period": 0.002, "delay": delay, "noise": 1e-3, "bias": 2e-3, "scale": 1.5, "quantum": None}
    known = {each.name for each in dataclasses.fields(kind)}
    words = {word: value for word, value in words.items() if word in known}
    system = System(
        of_parts(*(dataclasses.replace(x, **words) if type(x) is kind else x for x in EXAMPLES[kind]().items()))
    )
    _, _, system.q0, v, _ = state(system, 0, on_constraints=True)
    system.v0 = v * mechanical(system)
    found = femb.simulate(system, duration=0.01, output_interval=0.01 / 3.0).sensors["s"]
    scale = 1.0 if found.true.shape[1] == 4 else 1.5
    close(found.true[0], found.sample_true[0], 1e-9)
    close(found.value[0], scale * found.true[0], 1e-12)
    assert np.linalg.norm(found.true[0]) > (1e-6 if kind is e.Magnetometer else 1e-3)
    same = np.all(found.value[1] == found.value[0])
    assert same == (delay > 0.0)  # 0.0033 s: late, still that of the start; else the noise and the bias of a sample


@every_kind
def test_mass_and_kinetic_energy(kind, systems):
    system = systems(kind)
    for seed in SEEDS:
        _, u, q, v, a = state(system, seed)
        M, zero = dense(system, system.mass_data(q)), np.zeros(system.n_v)
        r = [system.residual(u[None], q[None], v[None], each[None])[0] for each in (a, zero, -2.0 * a)]
        close(M, M.T, 1e-14)
        close(r[0] - r[1], M @ a, 1e-12, np.abs(r[1]).max())
        close(r[2] - r[1], -2.0 * M @ a, 1e-12, np.abs(r[1]).max())
        assert np.linalg.eigvalsh(M).min() > 0.0
        v = v * mechanical(system)
        close(system.energy_momentum(q[None], v[None], u[None])[0, 0], 0.5 * v @ M @ v, 1e-13)
        np.testing.assert_array_equal(dense(system, system.matrices(u, q, v)[0]), M)


@every_kind
def test_bound_rates_are_those_of_the_equations_to_the_last_bit(kind, systems):
    system = systems(kind)
    if not BoundRates.serves(system):
        return
    rates = BoundRates(system)
    program = Program([rates])
    for seed in SEEDS:
        _, u, q, v, _ = state(system, seed)
        a, multipliers = system.forward(u, q, v)
        work = system.budget_rates(u[None], q[None], v[None], multipliers[None])[0]
        rates.u[0] = u
        rates.y[:] = np.concatenate([q, v, 0.0 * work])
        for call in [rates, program]:
            rates.rate[:] = np.nan
            call()
            wanted = np.concatenate([system.rates(q[None], v[None])[0], a, work])
            np.testing.assert_array_equal(rates.rate, wanted)


# Batches of which Python computes forces or matrices inside a step: gains and derivatives of a user's controllers.
PYTHON_IN_STEPS = {"ContinuousBatch", "TurnedBatch", "ModalDampingBatch"}


def functions_of(calls):
    """What bound calls call."""
    for call in calls:
        if isinstance(call, BoundSequence):
            yield from functions_of(call.calls)
        else:
            yield call.kernel if isinstance(call, Bound) else call


@every_kind
@pytest.mark.skipif(not AVAILABLE, reason="kernels have no entries")
def test_steps_call_no_python_of_elements(kind, systems):
    """Forces and matrices of steps are kernels that compiled code calls; inputs, which users' functions give, are not
    among them."""
    system = systems(kind)
    u, q, (v, a, out) = np.zeros((1, system.n_u)), system.q0[None], np.zeros((3, 1, system.n_v))
    matrices = np.zeros((3, 1, system.pattern.size))
    for batch in system.batches:
        if type(batch).__name__ in PYTHON_IN_STEPS:
            continue
        terms = Evaluation([batch], system.pattern)
        calls = [*terms.force_calls(u, q, v, a, out), *terms.step_calls(u, q, v, *matrices)]
        assert [each for each in functions_of(calls) if not hasattr(each, "address_for")] == []


@every_kind
def test_exact_tangent(kind, systems):
    """d(residual)/dv and d(residual)/dq H, inputs held."""
    system, rng = systems(kind), np.random.default_rng(5)
    for seed in SEEDS:
        _, u, q, v, a = state(system, seed)
        full = system.low_rank_tangent(u, q, v).sparse()
        parts = zip(system.tangent(u, q, v, a), full, strict=True)
        damping, stiffness = (dense(system, data) + part for data, part in parts)
        for dx, dv in rng.standard_normal((2, 2, system.n_v)):
            wanted = residual_change(system, q, v, a, u, dx, dv)
            close(stiffness @ dx + damping @ dv, wanted, 1e-8)


@every_kind
def test_arrays_of_kernels_are_in_the_order_of_rows(kind, systems):
    """Kernels are compiled anew for arrays in another order, as those of columns that a list selects."""
    system = systems(kind)
    _, *at, _ = state(system, 0, on_constraints=True)
    pairs = (np.stack([x, x]) for x in at)
    arrays = dict(zip(("accelerations", "multipliers"), forward_each(system, *pairs), strict=True))
    for batch in system.batches:
        for name in ("index", "ends", "data", "offset", "stride"):
            if isinstance(array := getattr(batch, name, None), np.ndarray):
                arrays[f"{type(batch).__name__}.{name}"] = array
    for term in (each for of_batch in system.evaluation.masses for each in of_batch):
        private = PrivateBlocks(term.starts, term.sizes)
        for blocks, starts in ((private, private.starts), (system.pattern, term.starts)):
            found = blocks.offsets(np.asfortranarray(starts))
            arrays |= {f"{type(blocks).__name__}.{k}": array for k, array in enumerate(found)}
    assert [name for name, array in arrays.items() if not array.flags.c_contiguous] == []


@every_kind
def test_energy_and_momentum(kind, systems):
    """Energy against the power of loads and dampers, and momentum against external loads."""
    system = systems(kind)
    for seed in SEEDS:
        _, u, q, v, a = state(system, seed, on_constraints=True)
        force = np.zeros((1, system.n_v))
        for batch in system.batches:
            Alone(system, batch).nonconservative_force(u[None], q[None], v[None], force)
        balance = system.residual(u[None], q[None], v[None], a[None])[0] + force[0]
        rate = system.rates(q[None], v[None])[0]

        def along(x, q=q, v=v, a=a, u=u, rate=rate):
            return system.energy_momentum((q + x * rate)[None], (v + x * a)[None], u[None])[0]

        change = slope(along)
        moving = v * mechanical(system)
        close(moving @ balance, change[0] + change[1], 1e-8, np.abs(v) @ np.abs(balance))
        close(system.rigid_velocities(q) @ balance, change[2:], 1e-8, np.abs(balance).max())
        close(system.power(u[None], q[None], v[None])[0], force[0] @ v, 1e-13)


@every_kind
def test_constraints(kind, systems):
    """Rates and second rates of the rows, the power of what drives them, and that their forces have no resultant."""
    system, rows = systems(kind), systems(kind).constraint_set
    assert len(set(rows.row_numbers)) == system.n_c
    assert (system.n_c > 0) == any(item.constraint_rows(system.layout) for item in system.items)
    if not system.n_c:
        return
    for seed in SEEDS:
        t, u, q, v, a = state(system, seed, on_constraints=True)
        rate = system.rates(q[None], v[None])[0]
        multipliers = np.random.default_rng(seed).standard_normal((1, system.n_c))

        def at(x, q=q, v=v, a=a, t=t, rate=rate):
            inputs = system.inputs_at(t + x, q, v)[None]
            state = (q + x * rate)[None], (v + x * a)[None]
            return np.array([system.constraints(inputs, *state)[0][0], system.constraint_rates(inputs, *state)[0]])

        (speed, second), J = slope(at), system.jacobian(u, q)
        close(at(0.0)[1], speed, 1e-8)
        close(J @ a - system.constraints(u[None], q[None], v[None])[1][0], second, 1e-8)
        force, rates, power = np.zeros((1, system.n_v)), np.zeros((1, system.n_c)), np.zeros((1, 1))
        rows.constraint_force(u[None], q[None], v[None], multipliers, force, rates)
        rows.power_call(u[None], q[None], v[None], multipliers, 0, power)()
        close(force[0], J.T @ multipliers[0], 1e-13)
        close(power[0, 0] + force[0] @ v, multipliers[0] @ rates[0], 1e-12)
        close(system.rigid_velocities(q) @ force[0], np.zeros(6), 1e-10, np.abs(force).max())
        parts = np.zeros((1, system.n_v))
        for number in set(rows.row_numbers):
            rows.reaction_of([number], u[None], q[None], v[None], multipliers, parts)
        close(parts, force, 1e-13)


def displaced(system, q):
    """q with everything turned by TURN and moved by SHIFT."""
    layout, q = system.layout, q.copy()
    for frame, i in zip(layout.frames, layout.frame_q, strict=True):
        if frame.freedom:
            q[i : i + 3] = SHIFT + rotations.rotate(TURN, q[i : i + 3])
        if frame.freedom == 6:
            q[i + 3 : i + 7] = rotations.multiply(TURN, q[i + 3 : i + 7])
    return q


def turned(system, x):
    """Velocities or forces (n_v,) with everything turned by TURN: what is in body axes stays."""
    layout, x = system.layout, x.copy()
    for frame, j in zip(layout.frames, layout.frame_v, strict=True):
        if frame.freedom:
            x[j : j + 3] = rotations.rotate(TURN, x[j : j + 3])
    return x


@pytest.mark.parametrize(
    "kind", [each for each in registry.kinds() if each not in FIXED_DIRECTIONS], ids=lambda kind: kind.__name__
)
def test_objectivity(kind, systems):
    """Forces turn with everything, and energies and constraints stay."""
    system = systems(kind)
    for seed in SEEDS:
        _, u, q, v, a = state(system, seed, on_constraints=True)
        other = displaced(system, q), turned(system, v), turned(system, a)
        r = system.residual(u[None], q[None], v[None], a[None])[0]
        got = system.residual(u[None], *(each[None] for each in other))[0]
        close(got, turned(system, r), 1e-10)
        energies = [system.energy_momentum(x[None], y[None], u[None])[0, :2] for x, y in ((q, v), other[:2])]
        close(energies[0], energies[1], 1e-11)
        position, _ = system.constraints(u[None], other[0][None], other[1][None])
        close(position[0], np.zeros(system.n_c), 1e-10)


def recorded(system):
    """Results of two output instants at one state, and the recorder."""
    t, u, q, v, a = state(system, 0, on_constraints=True)
    coordinates, rates, _ = system.coordinates_of_joints.measure(q[None], v[None])
    two = [np.repeat(np.atleast_2d(x), 2, axis=0) for x in (q, v, u, a, np.zeros(system.n_c), coordinates, rates)]
    frames = Frames(np.array([t, t]), *two[:2], np.zeros((2, system.budget.size)), *two[2:], np.zeros((2, 2)))
    return Recorder(system), frames


@every_kind
def test_records(kind, systems):
    """Every item that is recorded writes below its own table and name; every batch and item gives k values."""
    system = systems(kind)
    paths = {f"{item.table}/{item.name}" for item in system.items}
    recorder, frames = recorded(system)
    assert all(isinstance(each, Records) for each in recorder.records)
    for each in recorder.records:
        series = each.series(frames)
        assert {path.rsplit("/", 1)[0] for path in (*series, *each.static)} | set(each.attributes) <= paths
        assert all(len(values) == 2 for values in series.values())
    block = recorder.block(frames)
    silent = [item for item in system.items if not any(path.startswith(f"{item.table}/{item.name}/") for path in block)]
    assert {type(item) for item in silent} <= {e.Section, e.Latch, e.PointMass, e.Rotor}
    assert all(item.on is not None for item in silent if isinstance(item, e.PointMass))


@pytest.fixture(scope="module")
def seen():
    """Quantities that an earlier example has brought through every exit: the class of their group, and the name."""
    return set()


@every_kind
def test_exits(kind, systems, seen, tmp_path):
    """What an item records is declared with its unit, and has a name, a column, a label and a path in the file."""
    recorder, frames = recorded(systems(kind))
    block = recorder.block(frames)

    def described(results, path):
        *place, word = path.split("/")
        return results.audit if place == ["audit"] else getattr(results, place[0])[place[1]], word

    made = Results(block, recorder.static(), recorder.attributes("", "radau"))
    new = {path: (type(group), word) for path in block if path != "time" for group, word in (described(made, path),)}
    new = {path: entry for path, entry in new.items() if path.startswith(f"{kind.table}/") or entry not in seen}
    seen.update(new.values())
    made = Results({path: block[path] for path in ("time", *new)}, recorder.static(), made.attributes)
    made.write(tmp_path / "results.h5")
    results = Results.read(tmp_path / "results.h5")
    if new:
        export_csv(results, tmp_path / "tables", items=["*"])
    columns = {
        file.stem: next(csv.reader(file.read_text().splitlines())) for file in (tmp_path / "tables").glob("*.csv")
    }
    for path in new:
        group, word = described(results, path)
        quantity = type(group).quantities()[word]
        assert quantity.unit
        assert quantity.meaning
        np.testing.assert_array_equal(getattr(group, word), block[path])
        np.testing.assert_array_equal(results[path.replace("/", ".")], block[path])
        table = "audit" if path.startswith("audit/") else f"{group.word}_{group.name}"
        if block[path].size:
            own = group.columns_of(word)[0]
            # columns of unlike units have each its own
            units = ("",) if own == "own" else tuple(f"[{unit}]" for unit in own.split(", "))
            assert any(word in column and column.endswith(units) for column in columns[table]), path
            assert channels(path.partition("/")[0], group, word)


def _below(kind):
    """All classes derived from one."""
    return {each for child in kind.__subclasses__() for each in (child, *_below(child))}


BASES = {
    *(AlongBeams, BeamElements, CoordinateForceBatch, LineLoads, LoadsAlongBeams, MassField, PairBatch),
    *(FrameForces, MassiveElements, ShellLoads, StationForces),
}


@pytest.mark.slow
def test_batches_override_with_the_same_parameters():
    """Every batch of every example, against Batch."""
    seen = set()
    for make in EXAMPLES.values():
        seen |= {type(batch) for batch in System(make(), assemble=True).batches}
    assert {each for each in _below(Batch) if each.__module__.startswith("femb.")} == seen | BASES
    for batch in seen:
        for name, member in vars(Batch).items():
            if inspect.isfunction(member):
                wanted = list(inspect.signature(member).parameters)
                assert list(inspect.signature(getattr(batch, name)).parameters) == wanted, (batch, name)


@every_kind
def test_texts_are_short(kind, systems):
    """What Python prints of an item: its name and what was given, arrays by their shapes, on one line."""
    for item in systems(kind).items:
        text = repr(item)
        assert text.startswith(f"{type(item).__name__}(name='{item.name}'")
        assert "\n" not in text
        assert "array(" not in text
        assert len(text) < 600, text


@every_kind
def test_items_are_found_by_name_and_removed(kind):
    model = EXAMPLES[kind]()
    item = next(each for each in model.items() if type(each) is kind)
    table = getattr(model, kind.table)
    assert table[item.name] is item
    model.remove(item)
    assert item.name not in getattr(model, kind.table)
    assert item not in model.items()
    assert not any(part in model.items() for part in item.parts())
    refuses("wanted an item of this model", model.remove, item)


@every_kind
@pytest.mark.parametrize("held", [None, "a", "b"])
def test_declared_motions_and_momenta(kind, held, systems):
    """What items say that they do not notice, also where one of the bodies is held, as on the ground."""
    bodies = systems(kind).layout.bodies
    fixed = [] if held is None else [bodies[held]]
    for seed in SEEDS:
        t, _, q, v, a = state(systems(kind), seed, on_constraints=True)
        check_known_motions(systems(kind), t, q, v, a, fixed)
