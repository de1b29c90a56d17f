"""Connections: which bodies and beams of a model are connected with each other, by whatever it is."""

from femb.layout.layout import Layout

# So many parts, and so many names of each, are listed in full.
PARTS, NAMES = 12, 8


def parts(layout: Layout) -> list[list[str]]:
    """Names, as ``bodies.hub`` or ``beams.boom``, of the bodies and beams of each connected part.

    Beams, springs, pulls, joints and drivers connect; whatever is on a fixed frame is connected with all that is. Fixed
    frames themselves are not listed.
    """
    parent = list(range(len(layout.frames)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    fixed = tuple(k for k, frame in enumerate(layout.frames) if frame.freedom == 0)
    couplings = (frames for frames, _ in (*layout.couplings, *layout.spring_couplings))
    for frames in (fixed, *couplings, *layout.rows):
        for k in frames[1:]:
            parent[root(k)] = root(frames[0])
    found: dict[int, list[str]] = {}
    for name, frame in layout.bodies.items():
        if layout.frames[frame].freedom:
            found.setdefault(root(frame), []).append(f"bodies.{name}")
    for name, beam in layout.beams.items():
        found.setdefault(root(beam.stations[0].frame), []).append(f"beams.{name}")
    return list(found.values())


def unconnected(layout: Layout) -> list[str]:
    """Lines that list the parts of a model that nothing connects with each other; none if it is all of one piece."""
    found = parts(layout)
    if len(found) < 2:
        return []
    listed = [
        ", ".join(names[:NAMES]) + (f" and {len(names) - NAMES} more" if len(names) > NAMES else "")
        for names in found[:PARTS]
    ]
    if len(found) > PARTS:
        listed.append(f"and {len(found) - PARTS} more")
    return [f"{len(found)} parts that nothing connects with each other:", *(f"  {each}" for each in listed)]
