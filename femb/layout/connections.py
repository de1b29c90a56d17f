"""Connected parts of a model: sets of bodies and beams that beams, joints, springs, pulls or drivers connect."""

from collections.abc import Iterable, Sequence

from femb.layout.layout import Layout

# Largest numbers of parts, and of names of a part, that a message lists.
PARTS, NAMES = 12, 8


def components(count: int, links: Iterable[Sequence[int]]) -> list[int]:
    """For each of ``count`` frames, the number of its connected component; a link connects all its frames."""
    parent = list(range(count))

    def root(k: int) -> int:
        above = parent[k]
        while above != k:
            parent[k] = above = parent[above]
            k, above = above, parent[above]
        return k

    for frames in links:
        for k in frames[1:]:
            parent[root(k)] = root(frames[0])
    return [root(k) for k in range(count)]


def groups_of(
    layout: Layout, springs: bool, rows: bool, without: "set[int] | frozenset[int]" = frozenset()
) -> list[list[int]]:
    """Frames of each connected structure: by beams, by springs and by joints, but not by those left out."""
    links = [frames for frames, _ in layout.couplings]
    links += [frames for frames, _ in layout.spring_couplings] if springs else []
    links += [tuple(pair) for pair in layout.rows] if rows else []
    if without:
        links = [tuple(k for k in link if k not in without) for link in links]
    component = components(len(layout.frames), links)
    groups: dict[int, list[int]] = {}
    for k, number in enumerate(component):
        if k not in without:
            groups.setdefault(number, []).append(k)
    return list(groups.values())


def axes_of_points(layout: Layout) -> list[tuple[int, int]]:
    """Frames of point masses, each with the first frame of its structure that has axes, and so turns."""
    pairs = []
    for group in groups_of(layout, springs=True, rows=True):
        owner = next((k for k in group if layout.frames[k].freedom == 6), None)
        if owner is not None:
            pairs += [(k, owner) for k in group if layout.frames[k].freedom == 3]
    return pairs


def parts(layout: Layout) -> list[list[str]]:
    """Names, as ``bodies.hub`` or ``beams.boom``, of the bodies and beams of each connected part.

    Beams, springs, pulls, joints and drivers connect. Everything connected with a fixed frame is one part; fixed frames
    themselves are not listed.
    """
    fixed = tuple(k for k, frame in enumerate(layout.frames) if frame.freedom == 0)
    couplings = (frames for frames, _ in (*layout.couplings, *layout.spring_couplings))
    component = components(len(layout.frames), (fixed, *couplings, *layout.rows))
    names: dict[int, list[str]] = {}
    for name, frame in layout.bodies.items():
        if layout.frames[frame].freedom:
            names.setdefault(component[frame], []).append(f"bodies.{name}")
    for name, beam in layout.beams.items():
        names.setdefault(component[beam.stations[0].frame], []).append(f"beams.{name}")
    return list(names.values())


def unconnected(layout: Layout) -> list[str]:
    """Lines of a message that list the unconnected parts of a model; none if the model is one part."""
    names_of_parts = parts(layout)
    if len(names_of_parts) < 2:
        return []
    listed = [
        ", ".join(names[:NAMES]) + (f" and {len(names) - NAMES} more" if len(names) > NAMES else "")
        for names in names_of_parts[:PARTS]
    ]
    if len(names_of_parts) > PARTS:
        listed.append(f"and {len(names_of_parts) - PARTS} more")
    return [f"{len(names_of_parts)} parts that nothing connects with each other:", *(f"  {line}" for line in listed)]
