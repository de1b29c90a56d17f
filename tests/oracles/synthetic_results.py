"""Results in closed form, for the tests of results, export and plots."""

import numpy as np

from femb.numerics import rotations

BOX = (0.2, 0.3, 0.4)
OUTLINE = np.array([[-0.02, -0.01], [0.02, -0.01], [0.02, 0.01], [-0.02, 0.01]])
SPIN = np.array([0.3, -0.5, 0.8])  # rad/s, constant in body axes
DRIFT = np.array([0.1, 0.2, -0.3])  # m/s
START = np.array([1.0, 2.0, 3.0])  # m
LENGTH = 2.0


def blocks(block, size):
    """A block cut into blocks of `size` output times."""
    total = block["time"].size
    return [{path: a[i : i + size] for path, a in block.items()} for i in range(0, total, size)]


def satellite(times=21, elements=2):
    """(block, static, attributes) of a hub with two booms that drifts and spins as one rigid body.

    The axial section force is the distance from the boom's start, the strain is zero.
    """
    time = np.linspace(0.0, 2.0, times)
    quaternion = rotations.exponential(time[:, None] * SPIN)
    position = START + time[:, None] * DRIFT
    block = {
        "time": time, "bodies/hub/position": position, "bodies/hub/quaternion": quaternion,
        "bodies/hub/velocity": np.tile(DRIFT, (times, 1)), "bodies/hub/angular_velocity": np.tile(SPIN, (times, 1)),
    }  # fmt: skip
    static = {}
    s = np.linspace(0.0, LENGTH, elements + 1)
    # The order is not that of the alphabet, and must be kept.
    for name, sign in (("right", 1.0), ("left", -1.0)):
        relative = np.array([1.0, 0.0, 0.0, 0.0] if sign > 0 else [0.0, 0.0, 0.0, 1.0])
        local = np.stack([sign * (0.1 + s), 0 * s, 0 * s], axis=-1)
        path = f"beams/{name}/"
        p = np.repeat(rotations.multiply(quaternion, relative)[:, None], elements + 1, axis=1)
        omega = rotations.rotate_back(relative, SPIN)
        velocity = DRIFT + rotations.rotate(quaternion[:, None], np.cross(SPIN, local))
        force = np.zeros((times, elements, 2, 3))
        force[..., 0] = np.stack([s[:-1], s[1:]], axis=-1)
        block |= {
            path + "position": position[:, None] + rotations.rotate(quaternion[:, None], local),
            path + "quaternion": p,
            path + "velocity": velocity,
            path + "angular_velocity": np.tile(omega, (times, elements + 1, 1)),
            path + "strain": np.zeros((times, elements, 2)),
            path + "section_force": force,
            path + "section_moment": np.zeros((times, elements, 2, 3)),
            path + "rotation": rotations.multiply(p, rotations.conjugate(p[:1])),
        }
        static |= {
            path + "reference_position": block[path + "position"][0],
            path + "reference_quaternion": p[0],
            path + "element_length": np.full(elements, LENGTH / elements),
            path + "outline": OUTLINE,
        }
    block |= {f"audit/{name}": np.zeros(times) for name in ("potential_energy", "work", "constraint_velocity")}
    block |= {
        "joints/hinge/force": np.tile([1.0, 2.0, 3.0], (times, 1)),
        "joints/hinge/torque": np.zeros((times, 3)),
        "joints/hinge/coordinates": np.zeros((times, 0)),
        "audit/kinetic_energy": np.full(times, 5.0),
        "audit/linear_momentum": np.tile(10.0 * DRIFT, (times, 1)),
        "audit/angular_momentum": np.tile(SPIN, (times, 1)) + 1e-9 * np.sin(time)[:, None],
        "audit/energy_error": -1e-9 * time,
        "audit/constraint_position": 1e-12 * time,
        "audit/quaternion_norm": np.full(times, 2e-16),
    }
    attributes = {
        "": {"femb_version": "0.1.0", "case": 'title = "satellite"\n', "method": "radau"},
        "bodies/hub": {"shape": '{"box": [0.2, 0.3, 0.4]}'},
    }
    return block, static, attributes


def bent_beam(radius=1.5, elements=4, times=3):
    """(block, static, attributes) of a beam along x that is bent in the x-y plane, in steps of time,
    into an arc of the given radius; it keeps its length, and starts at the origin."""
    time = np.linspace(0.0, 1.0, times)
    s = np.linspace(0.0, LENGTH, elements + 1)
    angle = time[:, None] * s / radius
    curvature = np.where(time == 0.0, 1e-30, time)[:, None] / radius
    zero = 0.0 * angle
    position = np.stack([np.sin(curvature * s) / curvature, (1 - np.cos(curvature * s)) / curvature, zero], axis=-1)
    quaternion = np.stack([np.cos(0.5 * angle), zero, zero, np.sin(0.5 * angle)], axis=-1)
    path = "beams/rod/"
    block = {
        "time": time, path + "position": position, path + "quaternion": quaternion,
        path + "velocity": np.zeros_like(position), path + "angular_velocity": np.zeros_like(position),
        path + "strain": np.zeros((times, elements, 2)), path + "rotation": quaternion,
    }  # fmt: skip
    static = {path + "element_length": np.full(elements, LENGTH / elements), path + "outline": OUTLINE}
    return block, static, {"": {"status": "complete"}}


def flexible(cells):
    """(block, static, attributes) of a flexible body "a" with an interface "a.tip".

    Its eight nodes are the corners of a unit cube, which one coordinate shears along x. cells : its arrays of cells.
    """
    time = np.linspace(0.0, 1.0, 5)
    nodes = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float)
    motion = ("position", "quaternion", "velocity", "angular_velocity")
    still, one = np.zeros((5, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (5, 1))
    series = {"position": still, "quaternion": one, "velocity": still, "angular_velocity": still}
    series |= {"deformation": 0.2 * time[:, None], "deformation_rate": np.full((5, 1), 0.2)}
    static = {"nodes": nodes, "node_shapes": np.stack([nodes[:, 2], 0 * nodes[:, 0], 0 * nodes[:, 0]], 1)[None]}
    block = {"time": time} | {f"bodies/{name}/{word}": series[word] for name in ("a", "a.tip") for word in motion}
    block |= {f"bodies/a/{word}": array for word, array in series.items()}
    static = {f"bodies/a/{word}": array for word, array in (static | cells).items()}
    return block, static, {"bodies/a": {"kind": "modal"}}


THICKNESS = 0.01  # m


def plate():
    """(block, static, attributes) of a body "hub" that moves along y, and a plate of two quadrilaterals and a triangle
    beyond it, that bends: of the force 1 kN/m times time along x, and the moments 1, 2, 3 N times time about y.

    Its material axes are x and y.
    """
    time = np.linspace(0.0, 1.0, 5)
    nodes = np.array([[1, 0, 0], [2, 0, 0], [3, 0, 0], [1, 1, 0], [2, 1, 0], [3, 1, 0], [4, 0.5, 0]], float)
    along = time[:, None] * [0.0, 2.0, 0.0]
    still = np.tile([1.0, 0.0, 0.0, 0.0], (5, 1))
    deflection = 0.02 * time[:, None, None] * (nodes[:, :1] - 1.0) ** 2 * [0.0, 0.0, 1.0]
    block = {"time": time, "bodies/hub/position": along, "bodies/hub/quaternion": still}
    block |= {"bodies/hub/velocity": np.tile([0.0, 2.0, 0.0], (5, 1)), "bodies/hub/angular_velocity": 0.0 * along}
    motion = {"position": nodes + along[:, None] + deflection, "quaternion": np.repeat(still[:, None], 7, axis=1)}
    motion |= {"velocity": 0.0 * motion["position"], "angular_velocity": 0.0 * motion["position"]}
    motion |= {"deflection": deflection, "membrane_force": 1e3 * time[:, None, None] * np.array([[1.0, 0.0, 0.0]] * 3)}
    motion["bending_moment"] = time[:, None, None] * np.array([[1.0, 0, 0], [2.0, 0, 0], [3.0, 0, 0]])
    block |= {f"shells/plate/{word}": array for word, array in motion.items()}
    one = np.eye(3)
    recovery = [np.hstack([one / THICKNESS, side * 6.0 / THICKNESS**2 * one]) for side in (-1.0, 1.0)]
    static = {"reference_position": nodes, "reference_quaternion": motion["quaternion"][0], "ply_angle": np.zeros(1)}
    static |= {"ply_recovery": np.array([recovery]), "element_area": np.array([1.0, 1.0, 0.5])}
    static |= {"quadrilaterals": np.array([[0, 1, 4, 3], [1, 2, 5, 4]]), "triangles": np.array([[2, 6, 5]])}
    attributes = {"": {"status": "complete", "title": "A plate"}, "bodies/hub": {"shape": '{"box": [1, 1, 1]}'}}
    attributes["shells/plate"] = {"deflection_body": "hub"}
    return block, {f"shells/plate/{word}": array for word, array in static.items()}, attributes
