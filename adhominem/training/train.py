"""Models trained, from texts to a folder.

While a training run goes on, everything is in OUTPUT.training: for each member its checkpoints and
its log. At the end the model moves to OUTPUT. A run that was killed goes on with `resume`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from adhominem.errors import InputError, MissingExtraError, ModelError, OptionError
from adhominem.evaluation.pan import best_delta, table_row
from adhominem.model.card import ensemble_card
from adhominem.model.folder import read_folder, read_models, read_scores
from adhominem.model.member import AnyModel
from adhominem.model.writing import write_ensemble
from adhominem.ngrams.config import NGRAM_PRESETS, NgramConfig
from adhominem.paper.config import PRESETS, Config
from adhominem.records import pick_preset
from adhominem.score.decision import ensemble_probability, probability_same_author
from adhominem.text.corpus import PackedCorpus, is_packed
from adhominem.text.files import check_none_read_in, noting_inputs, real_path
from adhominem.text.normalisation import Normaliser
from adhominem.text.writing import check_output, locked, write_folder

# Checked before the first step: the last of them are only needed when all the work is done.
_LIBRARIES = ("torch", "safetensors", "matplotlib")
_MOST_NAMED = 3  # texts in an error


def any_preset(name: str) -> Config | NgramConfig:
    """The preset of this name, of a network or of an n-gram model."""
    presets: dict[str, Config | NgramConfig] = {**PRESETS, **NGRAM_PRESETS}
    return pick_preset(name, presets)


def train(
    corpus: PackedCorpus,
    dev: Mapping[str, PackedCorpus],
    output: str | Path,
    *,
    config: Config | NgramConfig | None = None,
    calibration: PackedCorpus | None = None,
    members: int = 1,
    device: str = "auto",
    resume: bool = False,
    on_event: Callable[[dict[str, Any]], None] = lambda event: None,
) -> list[AnyModel]:
    """Train a model, or an ensemble of several, and write its folder.

    `corpus` comes from `prepare`, each dev set from `prepare_pairs`. `on_event` is called with each
    step and each epoch. If started by `torchrun`, all processes share each batch. A network with a
    detector of undecidable pairs learns these, afterwards, from the texts of `calibration`.
    """
    for library in _LIBRARIES:
        if find_spec(library) is None:
            raise MissingExtraError(library, "train", "training")
    from adhominem.paper import distributed
    from adhominem.training.checkpoint import Task
    from adhominem.training.train_network import pick_device, train_member
    from adhominem.training.train_ngrams import train_ngrams

    config = config or PRESETS["pan20"]
    _check_members(config, members)
    named = {"the corpus": corpus, **dev}
    if calibration is not None:
        if not (isinstance(config, Config) and config.loss.adaptation_size):
            raise OptionError(
                "calibration texts, but the model has no second stage; expected the preset pan21, "
                "or another with loss.adaptation_size"
            )
        named["the calibration texts"] = calibration
    _check_data(named, dev, config.normaliser)
    seeds = range(config.training.seed, config.training.seed + members)
    configs = [config.with_setting(f"training.seed={seed}") for seed in seeds]
    first = os.environ.get("RANK", "0") == "0"  # of torchrun's processes, the one that writes
    picked = pick_device(device)
    with locked(output) if first else nullcontext(), distributed.process_group(picked):
        finished, output, work = _places(Path(output), configs, resume)
        distributed.wait()  # until all have checked; from here on the first process writes
        folders = []
        for at, member in enumerate([] if finished else configs):
            if isinstance(member, NgramConfig):
                train_ngrams(Task(corpus, dev, member, work, picked, on_event), output)
            else:
                place = work / f"member-{at + 1}"
                task = Task(corpus, dev, member, place, picked, on_event, at, calibration)
                folders.append(train_member(task))
        if distributed.rank() == 0:
            if folders:
                _gather(folders, dev, output)
            shutil.rmtree(work, ignore_errors=True)
        distributed.wait()
    return read_models(output)


def _check_members(config: Config | NgramConfig, members: int) -> None:
    if members < 1:
        raise OptionError(f"members is {members}; expected 1 or more")
    if isinstance(config, NgramConfig):
        if members > 1:
            raise OptionError(
                f"members is {members}; expected 1, since n-gram models differ little"
            )
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise OptionError("n-gram models are trained by one process; start it without torchrun")


def _check_data(
    named: Mapping[str, PackedCorpus], dev: Mapping[str, PackedCorpus], normaliser: Normaliser
) -> None:
    steps = list(normaliser.steps)
    for name, packed in named.items():
        used = packed.description.get("normalisation", steps)
        if used != steps:
            raise OptionError(
                f"{name} was prepared with other normalisation steps than the config's; "
                f"expected {', '.join(steps)}, not {', '.join(used)}. Prepare it again with the "
                "--preset that you train, or leave that to train"
            )
    for name, pairs in dev.items():
        if pairs.same_author is None:
            raise OptionError(
                f"the dev set '{name}' is not a pair set; expected pairs with their truth, "
                "as `adhominem pairs` writes them"
            )
        if pairs.same_author.all() or not pairs.same_author.any():
            raise OptionError(
                f"the dev set '{name}' has only one class of pairs, which no score can rank; "
                "expected some by the same author and some by different authors"
            )
        for what in named.keys() - dev.keys():
            if shared := pairs.also_in(named[what]):
                first = ", ".join(f"'{pairs.ids[at]}'" for at in shared[:_MOST_NAMED])
                raise OptionError(
                    f"{len(shared):,} of the {len(pairs):,} texts of the dev set '{name}' are in "
                    f"{what}, too, which makes its scores too good; the first are {first}. Split "
                    "PAN's pairs with: adhominem split PAIRS -o split --by pairs (and texts "
                    "without --by); then train on split/train"
                )


def _places(
    output: Path, configs: Sequence[Config | NgramConfig], resume: bool
) -> tuple[bool, Path, Path]:
    """Whether the run has finished before, the folder for its model, and its working folder."""
    finished = False
    if resume and output.is_dir() and any(output.iterdir()):
        # A run that was killed at the very end has left its complete model.
        with suppress(ModelError):
            finished = [model.config for model in read_models(output)] == list(configs)
    output = real_path(output) if finished else check_output(output)
    work = output.with_name(f"{output.name}.training")
    check_none_read_in(work)  # it is removed at the end
    if work.exists() and not resume:
        raise OptionError(
            f"{work} holds an unfinished run; continue it with --resume, or remove it"
        )
    return finished, output, work


def _gather(folders: list[Path], dev: Mapping[str, PackedCorpus], output: Path) -> None:
    """Combine the members' folders into one, with the dev scores of their mean probability."""
    with write_folder(output) as folder:
        if len(folders) == 1:
            shutil.copytree(folders[0], folder, dirs_exist_ok=True)
            return
        names = [f"member-{number}" for number in range(1, len(folders) + 1)]
        factors = []
        for source, name in zip(folders, names, strict=True):
            shutil.copytree(source, folder / name)
            with np.load(source.parent / "dev.npz", allow_pickle=False) as by_set:
                factors.append(dict(by_set))
        answers = {}
        for name, pairs in dev.items():
            assert pairs.same_author is not None
            probabilities = [probability_same_author(by_set[name]) for by_set in factors]
            answers[name] = ensemble_probability(probabilities), pairs.same_author
        scores = {name: table_row(*of_set) for name, of_set in answers.items()}
        has_delta = read_folder(folders[0]).delta is not None  # as all members, or none
        delta = best_delta(answers.values()) if has_delta else None
        write_ensemble(folder, names, scores, ensemble_card(names, scores), delta)


@dataclass(frozen=True)
class TrainedModel:
    """A model that was trained, and its scores on the dev sets."""

    model: Path
    scores: dict[str, Any]  # by dev set; of several members, those of their mean probability
    members: tuple[dict[str, Any], ...]  # the scores of each member
    delta: float | None  # of the non-answers, the best for the dev sets on average


def train_files(
    corpora: Sequence[str | Path],
    output: str | Path,
    *,
    dev: Sequence[str | Path] = (),
    config: Config | NgramConfig | None = None,
    calibration: Sequence[str | Path] = (),
    members: int = 1,
    device: str = "auto",
    resume: bool = False,
    skipped: list[InputError] | None = None,
    on_event: Callable[[dict[str, Any]], None] = lambda event: None,
) -> TrainedModel:
    """Train a model on texts, or on one corpus that `prepare` made; see `train`.

    `dev` are the pair sets that the best epoch is chosen by, `calibration` the texts of the second
    stage. Inputs that are not packed yet are packed for the run.
    """
    config = config or PRESETS["pan20"]
    with (
        open_inputs(corpora, dev, config.normaliser, skipped) as (corpus, pairs),
        ExitStack() as stack,
    ):
        apart = None
        if calibration:
            opened = open_inputs(calibration, [], config.normaliser, skipped)
            apart = stack.enter_context(opened)[0]
        models = train(
            corpus,
            pairs,
            output,
            config=config,
            calibration=apart,
            members=members,
            device=device,
            resume=resume,
            on_event=on_event,
        )
    scores, delta = read_scores(output), read_folder(output).delta
    return TrainedModel(Path(output), scores, tuple(model.scores for model in models), delta)


@contextmanager
def open_inputs(
    corpora: Sequence[str | Path],
    dev: Sequence[str | Path],
    normaliser: Normaliser,
    skipped: list[InputError] | None,
) -> Iterator[tuple[PackedCorpus, dict[str, PackedCorpus]]]:
    """The corpus and the dev pairs to train with; texts not packed yet are packed for the run."""
    from adhominem.text.prepare import prepare, prepare_pairs

    with noting_inputs(), TemporaryDirectory() as scratch:
        if len(corpora) == 1 and is_packed(corpora[0]):
            corpus = PackedCorpus.open(corpora[0])
        elif any(is_packed(path) for path in corpora):
            raise OptionError("several inputs, one of them prepared; prepare all of them together")
        else:
            packed = Path(scratch) / "corpus"
            corpus = prepare(corpora, packed, normaliser=normaliser, skipped=skipped)
        pairs: dict[str, PackedCorpus] = {}
        for path in dev:
            name = real_path(path).name
            if name in pairs:
                raise OptionError(f"two dev sets are named '{name}'; rename one")
            if is_packed(path):
                pairs[name] = PackedCorpus.open(path)
            else:
                pairs[name] = prepare_pairs(
                    path, Path(scratch) / f"dev-{name}", normaliser=normaliser, skipped=skipped
                )
        yield corpus, pairs
