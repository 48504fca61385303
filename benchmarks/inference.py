"""How fast documents become LEVs on a CPU, beside the plain forward pass of PyTorch.

    OPENBLAS_NUM_THREADS=1 python benchmarks/inference.py [--documents 40]

Documents of 210 windows (5,254 tokens), made up of token types with the frequencies of a natural
text, `pan20` sizes. The rival computes the character CNN at every position and packs its sequences,
20 documents at once. Floor: the products of the two recurrences alone, at the rate of a product of
these very sizes measured here.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from itertools import chain

import numpy as np
import torch
from measure import run
from training import made_up_corpus, make_plain

from adhominem.paper.config import preset
from adhominem.paper.network import Network
from adhominem.paper.recurrence import Pooling
from adhominem.paper.runtime import Runtime, TypeInputs
from adhominem.paper.training import DeviceCorpus
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.vocabulary import Vocabulary, spread_windows

TOKENS = 210 * 25 + 4


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def best(work: Callable[[], object], times: int = 3) -> float:
    """The minimum time of several runs, since other programs can only add to it."""
    return min(timed(work) for _ in range(times))


class Stages:
    """How long each stage takes, by wrapping what it calls."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def wrap(self, owner: type, method: str, name: str) -> None:
        inner = getattr(owner, method)

        def outer(*arguments, **options):  # type: ignore[no-untyped-def]
            began = time.perf_counter()
            result = inner(*arguments, **options)
            spent = time.perf_counter() - began
            self.seconds[name] = self.seconds.get(name, 0.0) + spent
            return result

        setattr(owner, method, outer)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    config, count = preset("pan20"), arguments.documents
    corpus = made_up_corpus(count, TOKENS)
    counts = np.bincount(corpus.tokens, minlength=len(corpus.types))
    vocabulary = Vocabulary.build(corpus.types, counts, config.data.vocabulary)
    torch.manual_seed(0)
    network = Network(len(vocabulary.token_types), len(vocabulary.characters), config.encoder)
    network.eval()
    weights = {name: value.numpy().copy() for name, value in network.state_dict().items()}
    texts = [" ".join(corpus.types[i] for i in corpus.document(at)) for at in range(count)]
    topics: list[list[str]] = [[] for _ in texts]
    tokenizer = Tokenizer(config.data.normaliser)
    documents = [tokenizer.tokens(text) for text in texts]

    rates = {}
    windows = config.data.windows
    for threads in (1, arguments.threads):
        runtime = Runtime(weights, vocabulary, windows, threads)
        runtime.encode(documents, topics)  # the types are kept from here on, as in a long run
        seconds = best(lambda runtime=runtime: runtime.encode(documents, topics))  # type: ignore[misc]
        rates[f"ours, {threads} thread{'s' if threads > 1 else ''}"] = count / seconds
    levs = Runtime(weights, vocabulary, windows).encode(documents, topics)

    data = DeviceCorpus(corpus, vocabulary, windows, torch.device("cpu"))
    sample = np.arange(min(20, count))
    batch = data.batch(
        sample, spread_windows(data.lengths[sample], windows), np.full(len(sample), -1)
    )
    make_plain(network)
    for threads in (1, arguments.threads):
        torch.set_num_threads(threads)
        with torch.no_grad():
            found = network(batch)
            seconds = best(lambda: network(batch), 2)
        rates[f"plain PyTorch, {threads} thread{'s' if threads > 1 else ''}"] = (
            len(sample) / seconds
        )
    distance = float(np.abs(found.levs.numpy() - levs[sample]).max())

    lstm = config.encoder.window_lstm_size
    left = np.ones((512, lstm), np.float32)
    right, out = np.ones((lstm, 4 * lstm), np.float32), np.empty((512, 4 * lstm), np.float32)
    seconds = best(lambda: [np.matmul(left, right, out=out) for _ in range(200)]) / 200
    rate = 2 * left.size * right.shape[1] / seconds
    operations = 2 * 2 * lstm * 4 * lstm * (210 * 30 + 210)  # both directions, tokens and windows
    rates["floor: the recurrent products alone, 1 thread"] = rate / operations

    plain = rates["plain PyTorch, 1 thread"]
    print(f"{count} documents of 210 windows; the largest difference of two LEVs is {distance:.1e}")
    print("| | documents/s | times plain, 1 thread |")
    print("|---|---|---|")
    for name, value in rates.items():
        print(f"| {name} | {value:.1f} | {value / plain:.1f} |")

    stages = Stages()
    stages.wrap(Tokenizer, "tokens", "tokenizing")
    stages.wrap(TypeInputs, "look_up", "new token types, and looking up known ones")
    stages.wrap(Pooling, "__call__", "recurrences and attention")
    runtime = Runtime(weights, vocabulary, windows)
    fresh = Tokenizer(config.data.normaliser)
    whole = timed(lambda: runtime.encode([fresh.tokens(text) for text in texts], topics))
    print(f"\nFrom text, nothing known before, 1 thread: {count / whole:.1f} documents/s")
    print(f"({len(set(chain(*documents))):,} token types in {count * TOKENS:,} tokens)")
    print("| stage | share |")
    print("|---|---|")
    for name, spent in {**stages.seconds, "all else": whole - sum(stages.seconds.values())}.items():
        print(f"| {name} | {spent / whole:.0%} |")


if __name__ == "__main__":
    run(main)
