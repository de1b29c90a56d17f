"""Write the mesh of the panel: ``python cases/panel_wing/make_mesh.py`` makes panel.inp beside this file.

A plate of 2 m x 0.8 m x 20 mm from x = 0 on, in bricks of 20 nodes, with the node sets of its interfaces.
"""

from itertools import product
from pathlib import Path

import numpy as np

SIZE, COUNTS = (2.0, 0.8, 0.02), (10, 4, 1)  # m, and bricks along x, y and z
# Places of the 20 nodes of a brick in half edges, in the order of Abaqus.
CORNERS = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2)]
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)]
PLACES = np.array(CORNERS + [tuple(np.add(CORNERS[a], CORNERS[b]) // 2) for a, b in EDGES])


def mesh() -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Nodes (N, 3) m, nodes of the bricks (c, 20), and nodes of the sets."""
    bricks = np.array([PLACES + 2 * np.array(corner) for corner in product(*map(range, COUNTS))])
    used, number = np.unique(bricks.reshape(-1, 3), axis=0, return_inverse=True)
    nodes = used * np.array(SIZE) / (2 * np.array(COUNTS)) - [0.0, SIZE[1] / 2, SIZE[2] / 2]
    x, y, _ = nodes.T
    sets = {
        "left": (x == 0.0) & (y > 0.19),  # where the yoke is attached: the outer quarters of the edge
        "right": (x == 0.0) & (y < -0.19),
        "edge": x == SIZE[0],
    }
    return nodes, number.reshape(-1, 20), {name: np.flatnonzero(each) for name, each in sets.items()}


def write(path: Path) -> None:
    nodes, bricks, sets = mesh()
    lines = ["*NODE"]
    lines += [f"{k + 1}, " + ", ".join(f"{value:.9g}" for value in node) for k, node in enumerate(nodes)]
    lines += ["*ELEMENT, TYPE=C3D20"]
    for k, brick in enumerate(bricks):
        numbers = [str(k + 1), *(str(node + 1) for node in brick)]
        lines += [", ".join(numbers[:16]) + ",", ", ".join(numbers[16:])]
    for name, rows in sets.items():
        lines.append(f"*NSET, NSET={name}")
        lines += [", ".join(str(row + 1) for row in rows[k : k + 16]) for k in range(0, len(rows), 16)]
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write(Path(__file__).with_name("panel.inp"))
