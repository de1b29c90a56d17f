"""The modes of an appendage that modal damping acts on, apart from its kernels, which descriptions do not import."""

from dataclasses import dataclass, replace

from femb.base.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class DampedModes:
    """The k damped modes of one appendage, with its root held.

    appendage : its name. frequencies (k,) Hz. ratios (k,). frames (n,), internal (m,) : the frames and internal
    coordinates of the layout that move in them. labels (n,) : of the frames. d (k, n, 6), e (k, m) : M phi of frames,
    in the axes of the held body, and of internal coordinates, with phi of unit modal mass; sqrt(kg) and sqrt(kg) m.
    """

    appendage: str
    frequencies: Floats
    ratios: Floats
    frames: Ints
    internal: Ints
    labels: tuple[str, ...]
    d: Floats
    e: Floats

    def damped_above(self, ratio: float) -> "DampedModes":
        """The modes that have a larger ratio."""
        chosen = self.ratios > ratio
        words = ("frequencies", "ratios", "d", "e")
        return replace(self, **{word: getattr(self, word)[chosen] for word in words})
