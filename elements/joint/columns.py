"""Rows of constraints: their primitive equations, and the columns of index and data in kernels.

A row is an equation between frame i and frame j. With s points and a, h directions fixed in the frames, e = A a, the
distance d = r_j + A_j s_j - r_i - A_i s_i, and f, f', f'' its input and the derivatives, or zeros:

    POINT        e.d - f           e = a_i, inertial
    DISTANCE     (d.d - f^2)/2c    c the length at the start; without an input f = c
    DOT1         e_i.e_j - f
    DOT2         e_i.d - f
    ANGLE        e_i.e_j           a_i = -sin f g + cos f h: the angle from g to a_j about g x h is f
    ORIENTATION  one component of vec(conj(p_d) conj(p_i) p_j); the input is p_d, omega_d, omega_d'

index (n, 10) int: FIRST and SECOND, columns of the frames i and j (see ``femb.numerics.vector3``); the ROW; the
PRIMITIVE; first INPUT or -1; input that is 0 while the row is not IN_FORCE, or -1. data (n, 16): s_i, a_i (g for ANGLE,
p_d over a_i and h for ORIENTATION), h, s_j, a_j, a CONSTANT. J (12,) of a row is on (rdot_i, omega_i, rdot_j, omega_j).
fixed : poses of fixed frames. Source: docs/theory/constraints.md, equations (1) to (9).
"""

POINT, DISTANCE, DOT1, DOT2, ANGLE, ORIENTATION = range(6)
FIRST, SECOND, ROW, PRIMITIVE, INPUT, IN_FORCE = 0, 3, 6, 7, 8, 9
FIRST_POINT, SECOND_POINT, SECOND_AXIS = slice(0, 3), slice(9, 12), slice(12, 15)
FIRST_AXIS, FIRST_AXIS_2, CONSTANT = 3, 6, 15
QUATERNION = 3

# Laws of forces along coordinates of joints (``femb.elements.joint.force_batch``).
SPRING, FRICTION, STOPS, MOTOR = range(4)
