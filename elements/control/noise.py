"""Noise by counter: normal numbers that are a function of the seed, the name of a sensor and the number of its sample.

Nothing is stored, so that the order of evaluation, a resumed run or an ensemble cannot change them. Source:
docs/theory/controllers.md, section 1; J. K. Salmon et al., SC11 (2011).
"""

from hashlib import blake2b

import numpy as np

from femb.base.types import Floats


def noise_key(seed: int, name: str) -> tuple[int, int]:
    """The two words of the key of a sensor's generator: the first 16 bytes of the hash of "seed/name"."""
    digest = blake2b(f"{seed}/{name}".encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def normals(key: tuple[int, int], sample: int, count: int) -> Floats:
    """(count,) independent normal numbers of mean zero and variance one of a sample 0, 1, 2 ...

    By Box and Muller from Philox, whose counter contains the sample: always the same number of words.
    """
    half = (count + 1) // 2
    generator = np.random.Philox(
        key=np.array(key, dtype=np.uint64), counter=np.array([0, 0, sample, 0], dtype=np.uint64)
    )
    uniform = ((generator.random_raw(2 * half) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53
    radius, angle = np.sqrt(-2.0 * np.log(uniform[:half])), 2.0 * np.pi * uniform[half:]
    result: Floats = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
    return result
