"""How many candidates must be looked at: until hardly any that is left could be among the best.

Codes tell candidates apart only roughly: what a LEV adds to the product of a code, its *rest*,
varies. Rests of candidates that were looked at show how much; those of the later half show it best,
since they are most like the candidates that are left. So once the best of them are known, the
number of those that are missed by not looking further can be expected. But a few texts are much
more alike than their codes say, and no tail tells of them. So as long as the later half holds any
of the best, more are expected.
"""

from __future__ import annotations

import numpy as np

from adhominem.arrays import Array32, FloatArray

MISSED = 0.002  # share of the hits that may be missed
_TAIL = 0.02  # share of the rests that the tail is judged by
_GOES_ON = 0.25  # times as many as the later half holds are expected of what is left, at least
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
    half = len(near) // 2
    rests = np.sort(near[half:] - products[half : len(near)])
    step = -(-len(left) // _LEFT)
    needed = least - left[step // 2 :: step]  # (left,): what a rest must be, to be among the best
    above = 1 - np.searchsorted(rests, needed, side="left") / len(rests)
    # Far out there are too few to count: the tail falls as its beginning does.
    begin = float(np.quantile(rests, 1 - _TAIL))
    fall = max(float((rests[rests > begin] - begin).mean()) if rests[-1] > begin else 0.0, 1e-6)
    beyond = _TAIL * np.exp(-np.maximum(needed - begin, 0) / fall)
    above = np.where(needed > begin, beyond, above)
    late = int((near[half:] >= least).sum())
    return max(float(above.mean() * len(left)), _GOES_ON * late)
