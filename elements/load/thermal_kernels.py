"""Kernels over heated beam elements: the stress depends on the strain minus the thermal strain.

A free element that is heated has another reference shape: longer by the axial thermal strain and with additional
curvature and twist. The thermal strain is the difference of the element's strains between the heated and the unheated
reference shape, so that free heating causes no stress, to rounding, for any length of the elements.

index, ends, data : arrays of ``femb.elements.beam.columns``. group (n,) int : row of every element in thermal
(s, g, 3, 4), the thermal strains at the strain points. Source: docs/theory/beam_loads.md, equations (1) to (5).
"""

import numpy as np

from femb.elements.beam.columns import LENGTH, REFERENCE, SOURCE, STIFFNESS
from femb.elements.beam.end_states import end_states
from femb.elements.beam.ends import element_shape
from femb.elements.beam.force import stress_force
from femb.elements.beam.frame_matrices import expand
from femb.elements.beam.interpolation import helix
from femb.elements.beam.matrices import ends_stiffness
from femb.elements.beam.natural import ends_force, geometric_stiffness, natural_coordinates, shape_gradient
from femb.elements.beam.strain import WEIGHTS, strains, twist_angles
from femb.elements.beam.tangent_strain import strain_changes, twist_hessian
from femb.elements.load.along_beam_kernels import add_force, add_section_force, add_tangent
from femb.numerics.compile import inlined, kernel


@kernel
def thermal_strains(free, length, curvature, chord_offset, source, out):
    """out (s, g, 3, 4): thermal strains at the strain points of elements with unheated length (g,), curvature (g, 3).

    chord_offset (g, 3) : chord of the unheated element minus that of the helix with its mean curvature. free
    (s, g, 4) : axial strain, twist and curvatures (1/m) of free heated elements. source (g,) : form of the strains.
    Returns -1, or the number of a folded group.
    """
    Q, work, X = np.empty((3, 3)), np.empty((3, 3)), np.empty(8)
    small = np.zeros((3, 3))
    zero, d, rotation = small[0], small[1], small[2]
    axes = np.eye(3)
    psi, psi_X, e, E = np.empty(4), np.empty((4, 8)), np.empty((3, 4)), np.empty((3, 4, 8))
    for g in range(length.size):
        for s in range(free.shape[0]):
            for part in range(2):
                # heated minus unheated
                hot = 1.0 if part == 0 else 0.0
                eps = hot * free[s, g, 0]
                for i in range(3):
                    rotation[i] = length[g] * (curvature[g, i] + hot * free[s, g, 1 + i])
                helix(rotation, length[g] * (1.0 + eps), d, Q)
                for i in range(3):
                    d[i] += (1.0 + eps) * chord_offset[g, i]
                natural_coordinates(zero, axes, eps, d, Q, eps, length[g], work, X)
                if not strains(X, length[g], source[g] != 0.0, psi, psi_X, e, E):
                    return g
                for i in range(3):
                    for j in range(4):
                        if part == 0:
                            out[s, g, i, j] = e[i, j]
                        else:
                            out[s, g, i, j] -= e[i, j]
    return -1


@inlined
def thermal_force(data, thermal, E, n):
    """n (8,) = minus length sum w E^T D e_T: the residual force on the natural coordinates."""
    stress_force(data, thermal, E, n)
    for m in range(8):
        n[m] = -n[m]


@kernel
def forces(index, ends, data, group, thermal, q, fixed, sign, out, section):
    """out (s, n_v) += sign times the residual force; section (s, n, 2, 6), unless of length 0, its section forces.

    Returns -1, or the number of a folded element.
    """
    states = np.empty((2, 8))
    R, small, X, work = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8), np.empty((3, 3))
    n, f11, f, zero = np.empty(8), np.empty(11), np.empty(14), np.zeros((4, 3))
    psi, psi_X, e, E = np.empty(4), np.empty((4, 8)), np.empty((3, 4)), np.empty((3, 4, 8))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            end_states(index[k], q[s], fixed, states)
            element_shape(states, ends[k], data[k, LENGTH], R, small, X)
            if not strains(X, data[k, LENGTH], data[k, SOURCE] != 0.0, psi, psi_X, e, E):
                return k
            thermal_force(data[k], thermal[s, group[k]], E, n)
            ends_force(X, R[4], small[10], small[11], data[k, LENGTH], X[3], n, zero, zero[0], work[2], f11, f)
            add_force(index[k], ends[k], R, f, sign, work, out[s])
            if section.shape[0] > 0:
                add_section_force(R, f, sign, work, section[s, k])
    return -1


@kernel
def prestress_energy(index, ends, data, group, thermal, q, fixed, out):
    """out (s,) += elastic energy of the strain minus the thermal strain, minus that of the strain; equation (5)."""
    states = np.empty((2, 8))
    R, small, X = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8)
    psi, psi_X, e, E = np.empty(4), np.empty((4, 8)), np.empty((3, 4)), np.empty((3, 4, 8))
    for s in range(q.shape[0]):
        for k in range(index.shape[0]):
            end_states(index[k], q[s], fixed, states)
            element_shape(states, ends[k], data[k, LENGTH], R, small, X)
            if not strains(X, data[k, LENGTH], data[k, SOURCE] != 0.0, psi, psi_X, e, E):
                return k
            for i in range(3):
                w = WEIGHTS[i] * data[k, LENGTH]
                for j in range(4):
                    mean = 0.5 * thermal[s, group[k], i, j] - (e[i, j] - data[k, REFERENCE + 4 * i + j])
                    for o in range(4):
                        out[s] += w * mean * data[k, STIFFNESS + 4 * j + o] * thermal[s, group[k], i, o]
    return -1


@kernel
def iteration_tangent(index, ends, data, offset, stride, group, thermal, q, fixed, out):
    """Add the change of the residual force at one state with the motion of the ends to block data; thermal (g, 3, 4).

    It omits the second derivatives of the strains, as the iteration tangent of the beam does.
    """
    states = np.empty((2, 8))
    R, small, X, work = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8), np.empty(3)
    n, f11, f, zero = np.empty(8), np.empty(11), np.empty(14), np.zeros((4, 3))
    psi, psi_X, e, E = np.empty(4), np.empty((4, 8)), np.empty((3, 4)), np.empty((3, 4, 8))
    K11, A, T = np.empty((11, 11)), np.empty((14, 14)), np.empty((2, 3, 3))
    for k in range(index.shape[0]):
        length = data[k, LENGTH]
        end_states(index[k], q, fixed, states)
        element_shape(states, ends[k], length, R, small, X)
        if not strains(X, length, data[k, SOURCE] != 0.0, psi, psi_X, e, E):
            return k
        thermal_force(data[k], thermal[group[k]], E, n)
        K11[:] = 0.0
        geometric_stiffness(X, R[4], small[10], small[11], length, n, K11)
        A[:] = 0.0
        expand(K11, A)
        ends_force(X, R[4], small[10], small[11], length, X[3], n, zero, zero[0], work, f11, f)
        add_tangent(ends[k], offset[k], stride[k], R, T, f, A, out)
    return -1


@kernel
def strain_tangent(index, ends, data, offset, stride, group, thermal, q, fixed, out):
    """Add the rest of the exact tangent: -B^T (length sum w sigma_T d2e/dX2) B, sigma_T = D e_T."""
    states = np.empty((2, 8))
    R, small, X, none = np.empty((5, 3, 3)), np.empty((12, 3)), np.empty(8), np.zeros(14)
    psi, psi_X = np.empty(4), np.empty((4, 8))
    A, T = np.empty((14, 14)), np.empty((2, 3, 3))
    S, D, dE, G = np.empty((4, 8, 8)), np.eye(8), np.empty((8, 3, 4, 8)), np.empty((8, 8))
    B, GB, K11 = np.empty((8, 11)), np.empty((8, 11)), np.empty((11, 11))
    for k in range(index.shape[0]):
        length = data[k, LENGTH]
        end_states(index[k], q, fixed, states)
        element_shape(states, ends[k], length, R, small, X)
        if not twist_angles(X, psi, psi_X):
            return k
        twist_hessian(X, S)
        strain_changes(X, length, data[k, SOURCE] != 0.0, psi, psi_X, S, D, dE)
        G[:] = 0.0
        for i in range(3):
            for j in range(4):
                stress = 0.0
                for o in range(4):
                    stress -= WEIGHTS[i] * length * data[k, STIFFNESS + 4 * j + o] * thermal[group[k], i, o]
                for m in range(8):
                    for o in range(8):
                        G[m, o] += stress * dE[o, i, j, m]
        shape_gradient(X, R[4], small[10], small[11], length, B)
        ends_stiffness(G, B, GB, K11)
        A[:] = 0.0
        expand(K11, A)
        add_tangent(ends[k], offset[k], stride[k], R, T, none, A, out)
    return -1
