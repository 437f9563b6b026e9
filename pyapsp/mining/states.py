"""Numbers by which the reader of VCD files and its compiled loop understand each other."""

from __future__ import annotations

import numpy as np

__all__ = [
    *("ANY", "BITS", "CHANGED", "CLOCK", "COMMENT", "DONE", "DROPPED", "EDGE", "END", "FULL"),
    *("HAS_REAL", "IGNORED", "KEYWORDS", "MODE", "NOT_KNOWN", "NOW", "NO_BIT", "NO_CODE"),
    *("NO_END", "NO_TIME", "NO_TOKEN", "NO_VALUE", "PLACE", "REAL", "REALS", "TIME", "TOO_WIDE"),
    *("UNKNOWN", "VECTORS", "code_hash"),
]

# kinds of variables
BITS, VECTORS, REALS = 0, 1, 2
# why the loop ended
DONE, FULL, REAL, TOO_WIDE, NO_TOKEN, NO_CODE, NO_VALUE, NO_TIME, NO_END, NO_BIT = range(10)
NOT_KNOWN = 10
# places in the array of scalars
NOW, TIME, CHANGED, UNKNOWN, DROPPED, CLOCK, EDGE, MODE, ANY, HAS_REAL, PLACE = range(11)
# what the table has for a code whose changes are skipped
IGNORED = -1


def code_hash(word: bytes) -> int:
    """Return the hash of an identifier code or a keyword."""
    key = 0
    for byte in word:
        key = (key * 1099511628211 + byte + 1) % 2**64
    return key


COMMENT, END = np.uint64(code_hash(b"$comment")), np.uint64(code_hash(b"$end"))
# keywords around value changes; what follows the last one is the time at the end
KEYWORDS = tuple(
    np.uint64(code_hash(word))
    for word in (b"$dumpvars", b"$dumpall", b"$dumpon", b"$dumpoff", b"$vcdclose")
)
