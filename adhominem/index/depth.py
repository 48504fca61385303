"""How many candidates must be looked at: until hardly any that is left could be among the best.

Codes tell candidates apart only roughly: what a LEV adds to the product of a code, its *rest*,
varies. Rests of candidates that were looked at show how much. So once the best of them are known,
the number of those that are missed by not looking further can be expected.
"""

from __future__ import annotations

import numpy as np

from adhominem.arrays import Array32, FloatArray

MISSED = 0.002  # share of the hits that may be missed
_TAIL = 0.02  # share of the rests that the tail is judged by
_LEFT = 1_024  # candidates that stand for all that are left


def expected_misses(products: Array32, near: FloatArray, hits: int) -> float:
    """How many of the best `hits` are to be expected among candidates not looked at yet.

    `products` (candidates,) are those of codes, the largest first; `near` (looked at,) is what the
    LEVs of the first ones say.
    """
    left = products[len(near) :]
    if not len(left) or len(near) < hits:
        return float(len(left))
    least = -np.partition(-near, hits - 1)[hits - 1]
    rests = np.sort(near - products[: len(near)])
    step = -(-len(left) // _LEFT)
    needed = least - left[step // 2 :: step]  # (left,): what a rest must be, to be among the best
    above = 1 - np.searchsorted(rests, needed, side="left") / len(rests)
    # Far out there are too few to count: the tail falls as its beginning does.
    begin = float(np.quantile(rests, 1 - _TAIL))
    fall = max(float((rests[rests > begin] - begin).mean()) if rests[-1] > begin else 0.0, 1e-6)
    beyond = _TAIL * np.exp(-np.maximum(needed - begin, 0) / fall)
    above = np.where(needed > begin, beyond, above)
    return float(above.mean() * len(left)) if len(above) else 0.0
