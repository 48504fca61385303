"""The files of a model's folder, and what depends on each; docs/formats.md has the details.

This is the only place that names them. A model's hash is that of all files on which its answers,
its warnings or a report depend (`hashed`); others are for people.

A model is a network or an n-gram model by itself, or an ensemble, whose folder holds its members'
folders. Its calibration, the pairs behind it and the descriptions of its genres are those of the
folder that is loaded: in a member they are ignored (`top_level`).

A model of several languages has a folder for each, such as `de`, with an n-gram model without
genres. It is read when the first text of its language comes: config.json says what the hashes of
its files must be, so that the model's hash covers them before they are read.
"""

from __future__ import annotations

from dataclasses import dataclass

NETWORK, NGRAMS, ENSEMBLE = "network", "ngrams", "ensemble"
LANGUAGES = "languages"
SINGLE = (NETWORK, NGRAMS)
EVERY = (*SINGLE, LANGUAGES, ENSEMBLE)
_MB = 2**20


@dataclass(frozen=True)
class ModelFile:
    """A file of a model's folder. In its name, * is the beginning of a hash; / ends a folder's."""

    name: str
    of: tuple[str, ...] = EVERY  # architectures that have it
    required: bool = False
    hashed: bool = False  # answers, warnings or reports depend on it
    top_level: bool = False  # it only counts in the folder that is loaded
    kept: bool = True  # a member of an ensemble keeps it, unless it is `top_level`
    largest: int = 16 * _MB  # bytes


# Format, version, all settings, a network's characters, the scores on dev, the length that nearly
# all training texts have; an ensemble's members and which of them leads; or languages, with the
# SHA-256 of each of their files.
CONFIG = ModelFile("config.json", required=True, hashed=True)
# The weights of a network and its two-covariance layer; or bigrams, the weight of each n-gram and
# where it goes.
WEIGHTS = ModelFile("model.safetensors", SINGLE, required=True, hashed=True, largest=1024 * _MB)
# The token pattern and the token types, for the `tokenizers` library.
TOKENIZER = ModelFile("tokenizer.json", (NETWORK,), required=True, hashed=True, largest=256 * _MB)
# Which n-grams are counted.
NGRAM_LIST = ModelFile("ngrams.json", (NGRAMS,), required=True, hashed=True, largest=256 * _MB)
# The genres, where they lie: in n-gram models, models of several languages, and members of an
# ensemble.
STYLES = ModelFile("styles.safetensors", (*SINGLE, LANGUAGES), hashed=True, largest=1024 * _MB)
# All parameters from LEVs to honest Bayes factors, once it has been calibrated.
CALIBRATION = ModelFile("calibration.json", hashed=True, top_level=True)
# The cases of the calibration, each scored by parameters that were fitted without it;
# calibration.json names it. There may be millions.
VALIDATION = ModelFile("validation-*.safetensors", hashed=True, top_level=True, largest=64 * _MB)
# What the genres are, in words, if somebody wrote it.
GENRES = ModelFile("genres.json", hashed=True, top_level=True, largest=_MB)
# What running prose is like, to tell other texts; `adhominem prose` writes it.
PROSE = ModelFile("prose.json", hashed=True, top_level=True)
# What texts by machines look like, to warn of them; `adhominem machine` writes it.
MACHINE = ModelFile("machine.safetensors", hashed=True, top_level=True)
# Hashes of files that commands have put into the model since it was made: these count.
GENERATION = ModelFile("generation.json", top_level=True)
# Hashes of the names of all who wrote the training texts, perhaps millions, for `calibrate`; once
# for all members of an ensemble, in its own folder, where they are the same.
AUTHORS = ModelFile("training_authors.txt", kept=False, largest=64 * _MB)
CARD = ModelFile("README.md")
# The course of training, an epoch a line; the same as curves; and its entropy curves.
COURSE = ModelFile("training.jsonl", SINGLE, largest=1024 * _MB)
CURVES = ModelFile("tensorboard/", (NETWORK,), kept=False)
ENTROPY = ModelFile("entropy.png", (NETWORK,), kept=False)

LAYOUT = (
    *(CONFIG, WEIGHTS, TOKENIZER, NGRAM_LIST, STYLES),
    *(CALIBRATION, VALIDATION, GENRES, PROSE, MACHINE, GENERATION),
    *(AUTHORS, CARD, COURSE, CURVES, ENTROPY),
)
