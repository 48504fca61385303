"""The files of a model's folder: what each is for, and what depends on it.

This is the only place that names them. A model's hash is that of all files on which its answers,
its warnings or a report depend (`hashed`); others are for people.

A model is a network or an n-gram model by itself, or an ensemble, whose folder holds its members'
folders. Its calibration, the pairs behind it and the descriptions of its genres are those of the
folder that is loaded: in a member they are ignored (`top_level`).
"""

from __future__ import annotations

from dataclasses import dataclass

NETWORK, NGRAMS, ENSEMBLE = "network", "ngrams", "ensemble"
SINGLE = (NETWORK, NGRAMS)
EVERY = (*SINGLE, ENSEMBLE)
_MB = 2**20


@dataclass(frozen=True)
class ModelFile:
    """A file of a model's folder. In its name, * is the beginning of a hash; / ends a folder's."""

    name: str
    holds: str
    of: tuple[str, ...]  # architectures that have it
    required: bool = False
    hashed: bool = False  # answers, warnings or reports depend on it
    top_level: bool = False  # it only counts in the folder that is loaded
    kept: bool = True  # a member of an ensemble keeps it
    largest: int = 16 * _MB  # bytes


CONFIG = ModelFile(
    "config.json",
    "format, version, all settings, a network's characters, the scores on dev; or an ensemble's "
    "members and which of them leads",
    EVERY,
    required=True,
    hashed=True,
)
WEIGHTS = ModelFile(
    "model.safetensors",
    "the weights of a network and its two-covariance layer; or bigrams, the weight of each n-gram "
    "and where it goes",
    SINGLE,
    required=True,
    hashed=True,
    largest=1024 * _MB,
)
TOKENIZER = ModelFile(
    "tokenizer.json",
    "the token pattern and the token types, for the `tokenizers` library",
    (NETWORK,),
    required=True,
    hashed=True,
    largest=256 * _MB,
)
NGRAM_LIST = ModelFile(
    "ngrams.json",
    "which n-grams are counted",
    (NGRAMS,),
    required=True,
    hashed=True,
    largest=256 * _MB,
)
STYLES = ModelFile(
    "styles.safetensors",
    "the genres, where they lie: in n-gram models and members of an ensemble",
    SINGLE,
    hashed=True,
    largest=1024 * _MB,
)
TYPICALITY = ModelFile(
    "typicality.safetensors",
    "what the training texts are like, for warnings",
    SINGLE,
    hashed=True,
    largest=1024 * _MB,
)
CALIBRATION = ModelFile(
    "calibration.json",
    "all parameters from LEVs to honest Bayes factors, once it has been calibrated",
    EVERY,
    hashed=True,
    top_level=True,
    kept=False,
)
VALIDATION = ModelFile(
    "validation-*.safetensors",
    "the pairs of the calibration, each scored by parameters that were fitted without it; "
    "calibration.json names it",
    EVERY,
    hashed=True,
    top_level=True,
    kept=False,
    largest=64 * _MB,  # of millions of pairs
)
GENRES = ModelFile(
    "genres.json",
    "what the genres are, in words, if somebody wrote it",
    EVERY,
    hashed=True,
    top_level=True,
    kept=False,
    largest=_MB,
)
PROSE = ModelFile(
    "prose.json",
    "what running prose is like, to tell other texts; `adhominem prose` writes it",
    EVERY,
    hashed=True,
    top_level=True,
    kept=False,
)
MACHINE = ModelFile(
    "machine.safetensors",
    "what texts by machines look like, to warn of them; `adhominem machine` writes it",
    EVERY,
    hashed=True,
    top_level=True,
    kept=False,
)
GENERATION = ModelFile(
    "generation.json",
    "hashes of files that commands have put into the model since it was made: these count",
    EVERY,
    top_level=True,
    kept=False,
)
AUTHORS = ModelFile(
    "training_authors.txt",
    "hashes of the names of all who wrote the training texts, for `calibrate`; once for all "
    "members of an ensemble, in its own folder, where they are the same",
    EVERY,
    largest=64 * _MB,  # of millions of people
    kept=False,
)
CARD = ModelFile("README.md", "the model card", EVERY)
COURSE = ModelFile(
    "training.jsonl", "the course of training, an epoch a line", SINGLE, largest=1024 * _MB
)
CURVES = ModelFile("tensorboard/", "the same as curves", (NETWORK,), kept=False)
ENTROPY = ModelFile("entropy.png", "its entropy curves", (NETWORK,), kept=False)

LAYOUT = (
    *(CONFIG, WEIGHTS, TOKENIZER, NGRAM_LIST, STYLES, TYPICALITY),
    *(CALIBRATION, VALIDATION, GENRES, PROSE, MACHINE, GENERATION),
    *(AUTHORS, CARD, COURSE, CURVES, ENTROPY),
)
