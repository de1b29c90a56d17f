"""The modes that modal damping acts on: of what hangs on a body, with that body held, about the unloaded state.

Source: docs/theory/modal_damping.md, section 1.
"""

import numpy as np

from femb.base.errors import ModelError
from femb.base.types import Floats
from femb.base.values import numbered, shown
from femb.elements.spring.damped_modes import DampedModes
from femb.elements.spring.modal_damping import MODES, ModalDamping
from femb.layout.layout import Layout
from femb.numerics import rotations
from femb.small_motions.eigenproblem import EigenProblem
from femb.small_motions.free_motions import free_motions
from femb.system.appendages import Appendage
from femb.system.system import System
from femb.vibration.appendages import appendages, held_modes
from femb.vibration.eigen import freedoms


def with_modes(system: System, items: list[ModalDamping], known: list[ModalDamping]) -> list[ModalDamping]:
    """The items with the modes that they damp; system : of the model without modal damping. known : other items.

    Raises ModelError, by name, as ``ModalDamping`` says.
    """
    result: list[ModalDamping] = []
    damped = {_place(part): item.name for item in known for part in item.damped or ()}
    for item in items:
        path = (item.table, item.name)
        frame = item.held_frame(system.layout)
        held = EigenProblem.of(system, loaded=False, held=item.held)
        parts = []
        for appendage in _chosen(held, item, frame):
            if _place(appendage) in damped:
                other = damped[_place(appendage)]
                raise ModelError.at(path, f"damps {appendage.name!r}, which modal_damping.{other} damps already")
            damped[_place(appendage)] = item.name
            try:
                parts.append(_damped(held, item, appendage, frame))
            except ModelError as error:
                raise ModelError.at(path, error.problems[0].message.removeprefix("modes: ")) from error
        result.append(item.with_modes(tuple(parts)))
    return result


def _place(part: Appendage | DampedModes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The frames of an appendage, or the coordinates of one that has none."""
    return tuple(part.frames), () if len(part.frames) else tuple(part.internal)


def _chosen(motion: EigenProblem, item: ModalDamping, frame: int) -> list[Appendage]:
    """The appendages that an item damps. Raises ModelError."""
    layout, path = motion.system.layout, (item.table, item.name)
    fixed = {k for k in range(len(layout.frames)) if motion.held[motion.velocities_of(k)].any()}
    hanging = [part for part in appendages(motion) if frame in _neighbours(layout, part)]
    if item.appendage is not None:
        hanging = [part for part in hanging if part.name == item.appendage] or _unknown(item, hanging)
    else:
        hanging = [part for part in hanging if _vibrates(motion, part)]
    if not hanging:
        raise ModelError.at(
            (*path, "held"), f"got {item.held!r}, on which nothing hangs that could vibrate: there is nothing to damp"
        )
    for part in hanging:
        others = (_neighbours(layout, part) & fixed) - {frame}
        if others:
            names = ", ".join(repr(layout.frames[k].label) for k in sorted(others))
            raise ModelError.at(
                path,
                f"{part.name!r} hangs on {item.held!r} and on {names}, so that its deformation is not that relative to "
                "one body: name another appendage",
            )
    return hanging


def _unknown(item: ModalDamping, hanging: list[Appendage]) -> list[Appendage]:
    names = ", ".join(repr(part.name) for part in hanging) or "none"
    raise ModelError.at(
        (item.table, item.name, "appendage"),
        f"got {shown(item.appendage)}, which is not an appendage of {item.held!r}; these are: {names}",
    )


def _neighbours(layout: Layout, part: Appendage) -> set[int]:
    """Frames to which elements, springs or joints link an appendage."""
    own, internal = set(part.frames), set(part.internal)
    links = [*layout.couplings, *((frames, ()) for frames in layout.rows)]
    linked = (frames for frames, within in links if not (own.isdisjoint(frames) and internal.isdisjoint(within)))
    return {k for frames in linked for k in frames} - own


def _vibrates(motion: EigenProblem, part: Appendage) -> bool:
    """Whether an appendage has elastic modes: a free wheel, or a body that is welded on, has none."""
    alone = motion.only(part)
    return freedoms(alone) > free_motions(alone).count


def _damped(motion: EigenProblem, item: ModalDamping, part: Appendage, frame: int) -> DampedModes:
    """The modes of one appendage of the held frame."""
    most = freedoms(motion.only(part))
    count = min(MODES, most) if item.count is None else item.count
    if count > most:
        raise ModelError(f"modes: got {count} modes to damp, but {part.name!r} has {numbered(most, 'mode')}")
    alone, squares, shapes = held_modes(motion, part, count)
    momenta = alone.momenta(shapes).T
    layout = motion.system.layout
    axes = _axes(motion, frame)
    frames = [k for k in part.frames if layout.frames[k].freedom]
    d = np.zeros((count, len(frames), 6))
    for i, k in enumerate(frames):
        at = motion.velocities_of(k)
        d[:, i, :3] = momenta[:, at][:, :3] @ axes
        if layout.frames[k].freedom == 6:
            d[:, i, 3:] = momenta[:, at][:, 3:] @ _axes(motion, k).T @ axes
    internal = np.flatnonzero(~alone.held[layout.internal_v]).astype(np.int64)
    labels = tuple(layout.frames[k].label for k in frames)
    frequencies = np.sqrt(squares) / (2.0 * np.pi)
    e = momenta[:, layout.internal_v[internal]]
    return DampedModes(
        part.name, frequencies, item.ratios(count), np.array(frames, dtype=np.int64), internal, labels, d, e
    )


def _axes(motion: EigenProblem, frame: int) -> Floats:
    i = motion.system.layout.frame_q[frame]
    quaternion = motion.q[i + 3 : i + 7] if i >= 0 else motion.system.layout.fixed[-1 - i, 3:7]
    return rotations.rotation_matrix(rotations.normalise(quaternion))
