"""The layout of arrays over time in HDF5 files: chunks, and batches of output times that fill whole ones."""

from collections.abc import Iterable, Iterator

import numpy as np

from femb.results.arrays import Block, joined

CHUNK_BYTES = 1 << 16  # unit of reading and checking
BATCH_BYTES = 1 << 23  # collected before a write
# Most output times in a chunk of an array of many nodes, so that the history of one node is in few chunks.
TOGETHER = 256


def gathered(blocks: Iterable[Block]) -> Iterator[Block]:
    """Joins small blocks to a few large ones, since every write by HDF5 costs time; all but the last have a multiple of
    `written_together` output times, so that no chunk is written twice."""
    collected: list[Block] = []
    size = 0
    for block in blocks:
        collected.append(block)
        size += sum(array.nbytes for array in block.values())
        if size >= BATCH_BYTES:
            batch = joined(collected)
            frames, step = len(next(iter(batch.values()))), written_together(batch)
            whole = frames - frames % step
            if whole:
                yield {path: array[:whole] for path, array in batch.items()}
            collected = [{path: array[whole:] for path, array in batch.items()}] if whole < frames else []
            size = sum(array.nbytes for part in collected for array in part.values())
    if collected:
        yield joined(collected)


def written_together(block: Block) -> int:
    """Number of output times, a power of two, that are written together."""
    row = sum(array.nbytes for array in block.values()) / max(1, len(next(iter(block.values()))))
    return int(2 ** np.floor(np.log2(np.clip(BATCH_BYTES / max(row, 1.0), 1, TOGETHER))))


def chunk_shape(shape: tuple[int, ...], itemsize: int, together: int = 1) -> tuple[int, ...]:
    """Shape of a chunk: many output times of all nodes or, where these are too many, ``together`` times of some."""
    row = max(1, itemsize * int(np.prod(shape[1:], dtype=np.int64)))
    frames = min(shape[0], together)
    if frames > 1 and frames * row > CHUNK_BYTES:
        nodes = max(1, CHUNK_BYTES * shape[1] // (frames * row))
        return (frames, nodes, *(max(1, size) for size in shape[2:]))
    return (max(1, min(shape[0], CHUNK_BYTES // row)), *(max(1, size) for size in shape[1:]))
