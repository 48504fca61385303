"""From Bayes factors to a posterior over the candidates and none of them.

The Bayes factor of a candidate compares "this candidate wrote it" with "somebody else of this
population did". So "none of them" has a Bayes factor of 1, and by Bayes' rule

    posterior of a candidate  =  prior of the candidate * its Bayes factor / sum
    posterior of none         =  prior of none / sum

The priors belong to the case, not to the texts: a probability that it is none of the candidates,
and the rest in equal shares.
"""

from __future__ import annotations

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.errors import OptionError

NONE = "<UNK>"  # "none of them", as PAN writes it


def check_prior(prior_none: float) -> None:
    """Raise an OptionError unless this can be the prior probability of "none of them"."""
    if not 0 <= prior_none < 1:
        raise OptionError(f"the prior of none is {prior_none}; expected 0 to below 1")


def posteriors(log_bayes_factors: FloatArray, prior_none: float) -> tuple[FloatArray, FloatArray]:
    """(cases, candidates) and (cases,): the posteriors of the candidates, and that of none.

    `log_bayes_factors` (cases, candidates) are in nats. A prior of 0 means that one of the
    candidates must have written it.
    """
    check_prior(prior_none)
    cases, candidates = log_bayes_factors.shape
    if not candidates:
        raise OptionError("there are no candidates; expected at least one")
    with np.errstate(divide="ignore"):  # a prior of 0 stays 0, whatever the evidence
        none = np.full((cases, 1), np.log(prior_none))
    weighed = log_bayes_factors + np.log1p(-prior_none) - np.log(candidates)
    joint = np.concatenate([weighed, none], axis=1)  # (cases, candidates + 1)
    # The largest is subtracted first, so that no exponential overflows.
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    shares = joint / joint.sum(axis=1, keepdims=True)
    return shares[:, :-1], shares[:, -1]


def is_any(posterior_none: FloatArray) -> BoolArray:
    """(cases,): whether it is more probable that one of the candidates wrote it than that none did.

    That is asked first, and then which of them: with many candidates, evidence may well point to
    the candidates and yet not make one of them more probable than all others and none together.
    """
    return np.asarray(posterior_none < 0.5)


def answers(log_bayes_factors: FloatArray, unbounded: FloatArray, prior_none: float) -> IntArray:
    """(cases,): the number of the candidate to name, or -1 for none of them.

    Both are (cases, candidates). Of candidates at a bound, the one is named whose Bayes factor
    would be the greatest without it.
    """
    _, none = posteriors(log_bayes_factors, prior_none)
    best = np.lexsort((unbounded, log_bayes_factors))[:, -1]
    return np.where(is_any(none), best, -1)
