"""A hash of 64-bit words, the same on every machine: of flows on switches, of links, of noise.

Source: Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195 (SplitMix: its finalizer and constants).
"""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
GOLDEN = 0x9E3779B97F4A7C15  # apart by this, words are far apart after mixing
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed(words: Words) -> Words:
    """Words of which every bit depends on every bit of the words given: ``uint64[...]``.

    >>> [hex(w) for w in mixed(np.array([1, 2], np.uint64)).tolist()]
    ['0x5692161d100b05e5', '0xdbd238973a2b148a']
    """
    words = (words ^ (words >> np.uint64(30))) * np.uint64(FIRST)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(SECOND)
    return words ^ (words >> np.uint64(31))
