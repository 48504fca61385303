"""All settings of an n-gram model and its training, and its presets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from adhominem.ngrams.table import NgramOptions
from adhominem.records import (
    BaseConfig,
    NotNegative,
    OneOf,
    Options,
    Positive,
    Seed,
    Share,
    ShareBelow1,
    Size,
    SizeOrNone,
)
from adhominem.text.normalisation import Normaliser


@dataclass(frozen=True, kw_only=True)
class NgramTrainingOptions(Options):
    """How an n-gram encoder is trained."""

    weight_steps: Size = 800
    weight_rate: Positive = 0.01
    companion: SizeOrNone = 512  # dimensions of the projection learnt with the weights; 0: none
    companion_rate: Positive = 0.001
    projection_steps: Size = 1_200
    projection_rate: Positive = 0.0003
    dropout: ShareBelow1 = 0.05  # of the weighted n-grams, while the projection is learnt
    batch_authors: Size = 256
    cut: Share = 0.5  # share of texts that are cut at random
    shortest: Size = 200  # tokens that remain after a cut
    longest: Size = 4_000  # tokens that are read of a text
    sample: Size = 3_000  # texts of a corpus that the starting values come from
    # Texts of a corpus in which n-grams are counted for the table, so that no large corpus
    # decides; 0: all.
    table_sample: SizeOrNone = 0
    dev_every: Size = 200  # steps between two evaluations on dev
    # Each stage is learnt this many times, from one start with other batches, and averaged: what
    # only one run has learnt is overfitting.
    runs: Size = 1
    # For many languages at once (`by_language.py`): the rate of what they share, and the penalty of
    # what an n-gram has of its own.
    shared_rate: Positive = 0.003
    weight_penalty: NotNegative = 0.0001
    seed: Seed = 0

    ordered = (("shortest", "<=", "longest"),)


@dataclass(frozen=True, kw_only=True)
class NgramConfig(BaseConfig):
    """All settings of an n-gram model and its training.

    form    projection: a learnt projection to a LEV of few dimensions; profile: the weighted
            n-grams themselves, the many rare ones sharing dimensions, to keep what training
            could not recognise as important
    """

    dropped = (("training.hard_positives", 1), ("training.hard_negatives", 1))

    normaliser: Normaliser = field(default_factory=Normaliser)
    ngrams: NgramOptions = field(default_factory=NgramOptions)
    form: Annotated[str, OneOf("projection", "profile")] = "projection"
    lev_size: Size = 768
    # Each source of texts is in the language that its name begins with, such as de-novels, and each
    # language has n-grams of its own (`by_language.py`).
    by_language: bool = False
    training: NgramTrainingOptions = field(default_factory=NgramTrainingOptions)


NGRAM_PRESETS = {
    "ngrams": NgramConfig(
        ngrams=NgramOptions(
            characters=10_000,
            tokens=2_500,
            bigrams=5_000,
            shaped_bigrams=2_500,
            unmasked=800,
            shapes=1_600,
        ),
        training=NgramTrainingOptions(cut=0.25),
    ),
    "ngram-profile": NgramConfig(
        form="profile", lev_size=32_768, training=NgramTrainingOptions(weight_steps=1_400)
    ),
    # One language of several, learnt together: a few hundred authors each.
    "ngram-languages": NgramConfig(
        form="profile",
        by_language=True,
        lev_size=32_768,
        ngrams=NgramOptions(
            longest=5,
            characters=30_000,
            tokens=6_000,
            bigrams=5_000,
            shaped_bigrams=6_000,
            shapes=1_200,
        ),
        training=NgramTrainingOptions(
            weight_steps=1_400,
            weight_rate=0.03,
            batch_authors=192,
            cut=0.5,
            table_sample=300,
            runs=2,
        ),
    ),
    # For tests: seconds on a laptop.
    "tiny-ngrams": NgramConfig(
        ngrams=NgramOptions(
            characters=2_000, tokens=500, bigrams=1_000, shaped_bigrams=1_000, unmasked=100
        ),
        lev_size=16,
        training=NgramTrainingOptions(
            weight_steps=20, projection_steps=20, batch_authors=16, dev_every=10
        ),
    ),
}
