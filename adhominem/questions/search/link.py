"""Accounts that may be one person: pairs and groups, each with its evidence and what chance does.

An account is an author, or a text whose author is not known. Each text is searched for among the
texts of other accounts; the accounts that come up are compared as wholes, several texts a side. How
many such links are to be expected by chance is estimated twice, and the larger number counts.
Accounts are drawn at random: the tail of their Bayes factors, times the number of all pairs of
accounts. And among the pairs that came up, those after the first half as many as there are accounts
are mostly false: their number is taken to go on falling as it does there. The second estimate sees
what pairs drawn at random are too few to show: a few accounts of a kind, all alike.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

import adhominem
from adhominem.arrays import FloatArray, IntArray
from adhominem.errors import NotFoundError
from adhominem.harmless import one_line
from adhominem.index.packing import packed_and_back
from adhominem.index.searcher import TOGETHER, Searcher, tail
from adhominem.index.store import Store
from adhominem.questions.search.search import cautions_of_index
from adhominem.records import strict_json, to_json
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.decision import LOG_10, VerbalScale
from adhominem.verify.cautions import Caution, cautions_of_many

NOT_A_VERDICT = (
    "A link says that two accounts should be looked at, not that they are one person. A wrong link "
    "can harm people who have nothing to do with each other: let a person decide each, by more "
    "than style"
)
RATE = 0.1  # expected share of false links, up to which links are listed
_NEAREST = 5  # texts of other accounts that come up for each text
_TEXTS = 8  # of an account that are compared, at most
_DRAWN = 1_000  # pairs of accounts that show what chance does
_CHANCE_BEGINS, _CHANCE_ENDS = 0.5, 1.5  # pairs that came up, as shares of the accounts
_FEWEST = 20  # of these: fewer say nothing
_Pair = tuple[int, int]  # of accounts, or of texts


@dataclass(frozen=True, kw_only=True)
class Link:
    """Two accounts that may be one person."""

    first: str
    second: str
    first_texts: int  # of the account
    second_texts: int
    log10_bayes_factor: float
    verbal: str
    at_bound: bool
    expected_false_share: float  # of the links that are as strong as this one or stronger
    first_text: str  # the ids of the two texts that brought it up
    second_text: str


@dataclass(frozen=True, kw_only=True)
class LinkedAccounts:
    """Accounts that links hold together."""

    accounts: tuple[str, ...]
    weakest_log10_bayes_factor: float  # of the links that hold it together


@dataclass(frozen=True, kw_only=True)
class Links:
    """All links up to a stated expected share of false ones."""

    index: str
    texts: int
    accounts: int
    rate: float
    looked_at: int  # pairs of accounts that came up
    drawn: int  # pairs of accounts that show what chance does
    links: tuple[Link, ...]  # the strongest first
    groups: tuple[LinkedAccounts, ...]
    sharing: tuple[tuple[str, str], ...]  # accounts that came up, but share passages: not compared
    warnings: tuple[Caution, ...]  # of the model and of the index
    model: str
    model_sha256: str
    version: str

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {**to_json(self), "note": NOT_A_VERDICT}

    def table(self, format: str) -> str:
        """The links as a file for people to decide by: `csv` or `jsonl`."""
        rows = [{**to_json(link), "decision": ""} for link in self.links]
        if format == "jsonl":
            return "".join(
                strict_json({name: row[name] for name in COLUMNS}) + "\n" for row in rows
            )
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([_cell(row[name]) for name in COLUMNS] for row in rows)
        return file.getvalue()


COLUMNS = (*(one.name for one in fields(Link) if one.name != "at_bound"), "decision")


def _cell(value: object) -> object:
    """A name that a spreadsheet would take for a formula is quoted."""
    if isinstance(value, str):
        value = one_line(value)
        return f"'{value}" if value[:1] in ("=", "+", "-", "@") else value
    return value


def link_accounts(
    searcher: Searcher,
    *,
    rate: float = RATE,
    limit: int | None = None,
    seed: int = 0,
    scale: VerbalScale | None = None,
    on_texts: Callable[[int], None] = lambda count: None,
) -> Links:
    """Pairs and groups of accounts of an index that may be one person.

    Links are listed that are strong enough for at most a share `rate` of them to be expected to be
    false. If there are more than `limit` texts, this many are drawn and searched for. Texts on
    which no statement is made are left out.
    """
    store, verifier, scale = searcher.store, searcher.verifier, scale or VerbalScale()
    rng = np.random.default_rng(seed)
    owners: dict[int, list[int]] = {}
    texts = store.shuffled[~store.foreign[store.shuffled]]
    for number in texts.tolist():
        owners.setdefault(int(store.accounts[number]), []).append(number)
    if len(owners) < 2:
        raise NotFoundError(
            "there is one account with running prose, or none; expected several to link",
            store.folder,
        )
    if limit is not None and limit < len(texts):
        texts = rng.choice(texts, limit, replace=False)
    brought_up = _nearest_pairs(searcher, texts, owners, on_texts)
    compared, sharing = _without_sharing(store, sorted(brought_up), owners)
    factors, ranks = _compared(searcher, list(compared.values()))
    accounts = np.array(list(owners), np.int64)
    drawn = np.sort(accounts[rng.integers(0, len(accounts), (_DRAWN, 2))], axis=1)
    drawn = np.unique(drawn[drawn[:, 0] != drawn[:, 1]], axis=0)
    by_chance = _without_sharing(store, map(tuple, drawn.tolist()), owners)[0]
    searched = len(np.unique(store.accounts[texts]))
    chance_ranks = _compared(searcher, list(by_chance.values()))[1]
    shares = _false_shares(ranks, chance_ranks, len(owners), searched)
    pairs, links = list(compared), []
    order = np.argsort(-ranks, kind="stable").tolist()
    for at, share in zip(order, shares[shares <= rate].tolist(), strict=False):
        first, second = brought_up[pairs[at]]
        strength = float(factors.log_bayes_factor[at]) / LOG_10
        links.append(
            Link(
                first=store.account(first),
                second=store.account(second),
                first_texts=len(owners[pairs[at][0]]),
                second_texts=len(owners[pairs[at][1]]),
                log10_bayes_factor=strength,
                verbal=scale.words(strength),
                at_bound=bool(factors.at_bound[at]),
                expected_false_share=share,
                first_text=store.id(first),
                second_text=store.id(second),
            )
        )
    return Links(
        index=str(store.folder),
        texts=len(store),
        accounts=len(owners),
        rate=rate,
        looked_at=len(brought_up),
        drawn=len(chance_ranks),
        links=tuple(links),
        groups=groups_of(links),
        sharing=tuple((store.account(one), store.account(other)) for one, other in sharing),
        warnings=(
            *cautions_of_many(verifier, searcher.population, verifier.misleading()),
            *cautions_of_index(store, store.live),
        ),
        model=verifier.name,
        model_sha256=verifier.sha256,
        version=adhominem.__version__,
    )


def _nearest_pairs(
    searcher: Searcher,
    texts: IntArray,
    owners: dict[int, list[int]],
    on_texts: Callable[[int], None],
) -> dict[_Pair, _Pair]:
    """Accounts that are near to each other, and the first two texts that showed it."""
    store, accounts = searcher.store, searcher.store.accounts
    pairs: dict[_Pair, _Pair] = {}
    for begin in range(0, len(texts), TOGETHER):
        part = texts[begin : begin + TOGETHER]
        theirs = [frozenset(owners[account]) for account in accounts[part].tolist()]
        queries = packed_and_back(store.levs(part))
        nearest = searcher.nearest(queries, _NEAREST, theirs, _NEAREST)
        for number, near in zip(part.tolist(), nearest, strict=True):
            for other in near[~store.foreign[near]].tolist():
                one, two = sorted((number, other), key=lambda text: int(accounts[text]))
                pairs.setdefault((int(accounts[one]), int(accounts[two])), (one, two))
        on_texts(len(part))
    return pairs


def _without_sharing(
    store: Store, pairs: Iterable[_Pair], owners: dict[int, list[int]]
) -> tuple[dict[_Pair, tuple[IntArray, IntArray]], list[_Pair]]:
    """Pairs of accounts, with the texts of each that are compared; and pairs that have none.

    A text that shares a passage with one of the other account is not compared: it may quote it.
    """
    compared, sharing = {}, []
    for pair in pairs:
        first, second = (np.sort(owners[account][:_TEXTS]) for account in pair)
        shares = np.array([store.sharing(store.sketch(at), second) for at in first.tolist()])
        sides = first[~shares.any(axis=1)], second[~shares.any(axis=0)]
        if all(map(len, sides)):
            compared[pair] = sides
        else:
            sharing.append(pair)
    return compared, sharing


def _compared(
    searcher: Searcher, pairs: Sequence[tuple[IntArray, IntArray]]
) -> tuple[LogBayesFactors, FloatArray]:
    """(pairs,): the log Bayes factors of accounts, and what ranks them.

    They are ranked without bounds and by S-norms that are not compressed.
    """
    store, scorer = searcher.store, searcher.verifier.scorer
    factors, ranks = [scorer([], [])], [np.zeros(0)]
    for at in range(0, len(pairs), 64):
        one, other = (
            [store.levs(texts) for texts in side] for side in zip(*pairs[at : at + 64], strict=True)
        )
        scores = scorer.scores(one, other, searcher.population)
        factors.append(scorer.weighed(scores))
        ranks.append(scorer.weights.uncompressed(scores))
    return LogBayesFactors.joined(factors[1:] or factors), np.concatenate(ranks)


def _false_shares(
    evidence: FloatArray, by_chance: FloatArray, accounts: int, searched: int
) -> FloatArray:
    """(links,): of links in falling order of evidence, the expected share of false ones so far.

    Of the accounts, `searched` were searched for.
    """
    if not len(by_chance):  # all that were drawn share passages: nothing is known of chance
        return np.ones(len(evidence))
    falling = -np.sort(-evidence)
    expected = accounts * (accounts - 1) / 2 * tail(by_chance, falling)
    begin = round(_CHANCE_BEGINS * searched)
    end = min(round(_CHANCE_ENDS * searched), len(falling) - 1)
    if end - begin >= _FEWEST:
        weakest = falling[end]
        fall = (np.minimum(falling[:end], falling[begin]) - weakest).sum() / (end - begin)
        excess = np.maximum(falling - weakest, 0)
        expected = np.maximum(expected, end * np.exp(-excess / max(float(fall), 1e-6)))
    shares = np.minimum(1.0, expected / np.arange(1, len(falling) + 1))
    # A weaker link does not make the stronger ones less sure.
    return np.minimum.accumulate(shares[::-1])[::-1]


def groups_of(links: Sequence[Link]) -> tuple[LinkedAccounts, ...]:
    """Accounts that links hold together, the largest group first."""
    group_of: dict[str, int] = {}
    members: dict[int, set[str]] = {}
    weakest: dict[int, float] = {}
    for number, link in enumerate(links):  # the strongest first
        old = {group_of[name] for name in (link.first, link.second) if name in group_of}
        if len(old) == 1 and all(name in group_of for name in (link.first, link.second)):
            continue  # held together by stronger ones already
        together = {link.first, link.second}.union(*(members.pop(group) for group in old))
        strengths = [link.log10_bayes_factor, *(weakest.pop(group) for group in old)]
        members[number], weakest[number] = together, min(strengths)
        group_of.update((name, number) for name in together)
    groups = [
        LinkedAccounts(accounts=tuple(sorted(names)), weakest_log10_bayes_factor=weakest[number])
        for number, names in members.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group.accounts), group.accounts)))
