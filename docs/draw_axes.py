"""Draw the axes that items have: of a beam's section, of a hinge, of a wheel, and the angles of an attitude.

python docs/draw_axes.py        # writes docs/images/axes.png
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

COLOURS = {"x": "#b03a2e", "y": "#1e8449", "z": "#1f618d"}
GREY = "#8a8f98"
WORLD = np.eye(3)


def arrow(ax, start, along, colour, text):
    """An arrow with its name at the tip."""
    ax.quiver(*start, *along, color=colour, linewidth=2.0, arrow_length_ratio=0.16)
    ax.text(*(np.add(start, np.multiply(along, 1.13))), text, color=colour, fontsize=9, ha="center", va="center")


def box(ax, centre, size, axes=WORLD, alpha=0.16):
    """The faces of a box (3,) m about its centre, whose axes are the columns of a matrix."""
    half, faces = np.asarray(size) / 2.0, []
    for k in range(3):
        a, b = np.delete(np.arange(3), k)
        for side in (-1.0, 1.0):
            corners = np.zeros((4, 3))
            corners[:, k] = side * half[k]
            corners[:, a], corners[:, b] = half[a] * np.array([1, 1, -1, -1]), half[b] * np.array([1, -1, -1, 1])
            faces.append(centre + corners @ axes.T)
    ax.add_collection3d(Poly3DCollection(faces, facecolor=GREY, edgecolor=GREY, alpha=alpha, linewidth=0.7))


def turned(axis, angle):
    """The matrix of a rotation about the axis 0, 1 or 2, degrees."""
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    a, b = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[a, a], R[a, b], R[b, a], R[b, b] = c, -s, s, c
    return R


def section(ax):
    box(ax, np.array([-1.0, 0, 0]), (0.5, 0.5, 0.5))
    box(ax, np.array([0.25, 0, 0]), (2.0, 0.5, 0.1), alpha=0.3)
    for name, along in zip("xyz", 0.8 * np.eye(3), strict=True):
        arrow(ax, (1.25, 0, 0), along, COLOURS[name], {"x": "x: direction", "y": "y: y_axis", "z": "z = x × y"}[name])
    ax.set_title("Section of a beam\nbending_stiffness = [about y, about z]: about y it moves along z")


def hinge(ax):
    fold = turned(2, 35.0)
    box(ax, np.array([-0.6, 0, 0]), (1.2, 0.06, 0.9))
    box(ax, fold @ [0.6, 0, 0], (1.2, 0.06, 0.9), fold, 0.3)
    arrow(ax, (0, 0, -0.6), (0, 0, 1.5), COLOURS["z"], "axis")
    arrow(ax, (0, 0, 0.0), (1.0, 0, 0), COLOURS["x"], "x of the joint: reference")
    steps = 0.75 * np.array([turned(2, t)[:, 0] for t in range(36)])
    ax.plot(*steps.T, color="black", linewidth=1.0)
    ax.text(0.75, 0.45, 0.62, "angle of the joint", fontsize=9)
    ax.set_title("Hinge: its angle is that of the second part about\nthe axis of the first, right-handed")


def wheel(ax):
    box(ax, np.zeros(3), (1.0, 1.0, 1.0))
    t = np.linspace(0.0, 2.0 * np.pi, 60)
    ax.plot(0.4 * np.cos(t), 0.4 * np.sin(t), 0.2, color=GREY, linewidth=3.0)
    arrow(ax, (0, 0, 0.2), (0, 0, 0.8), COLOURS["z"], "axis, speed")
    arrow(ax, (0.8, 0, 0.2), (0, 0, -0.6), COLOURS["x"], "torque on the body")
    ax.set_title("Wheel: a motor torque speeds it up about its axis\nand acts on the body the other way")


def angles(ax):
    first = turned(0, 25.0)
    second = first @ turned(1, 30.0)
    third = second @ turned(2, 30.0)
    for name, along in zip("xyz", np.eye(3), strict=True):
        ax.quiver(0, 0, 0, *along, color=GREY, linewidth=1.0, arrow_length_ratio=0.1)
        ax.text(*(1.1 * along), name, color=GREY, fontsize=9)
    for name, along in zip("xyz", third.T, strict=True):
        arrow(ax, (0, 0, 0), along, COLOURS[name], f"{name} of the body")
    for path, text in (
        ([turned(0, t)[:, 1] for t in range(26)], "1: about x"),
        ([first @ turned(1, t)[:, 0] for t in range(31)], "2: about the new y"),
        ([second @ turned(2, t)[:, 1] for t in range(31)], "3: about the new z"),
    ):
        points = 0.85 * np.array(path)
        ax.plot(*points.T, color="black", linewidth=1.0)
        ax.text(*(points[len(points) // 2] * 1.1), text, fontsize=9)
    ax.set_title("euler_angles: turns about x, the new y, the new z,\nin this order (intrinsic x-y-z)")


def draw(path):
    """Write the figure of four panels."""
    figure = plt.figure(figsize=(10, 8.4))
    for k, panel in enumerate((section, hinge, wheel, angles)):
        ax = figure.add_subplot(2, 2, k + 1, projection="3d", proj_type="ortho")
        ax.view_init(26, -52)
        panel(ax)
        ax.title.set_fontsize(9.5)
        ax.set_axis_off()
        ax.set_aspect("equal")
        for text in ax.texts:
            text.set_clip_on(False)
        for line in ax.collections:
            line.set_clip_on(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(Path(__file__).resolve().parent / "images" / "axes.png")
