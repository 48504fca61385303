"""The paper's experiment as a list of steps: what each needs, makes and costs, and how it is done.

PRESET/SIZE/split, corpus, dev              the texts; of two stages, calibration, too
PRESET/SIZE/early-bird, single, member-2, ..., ensemble
PRESET/SIZE/scores-dev-TEST.json, answers-TEST.jsonl, heat-maps/
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adhominem.jobs.corpora import pair_files
from adhominem.jobs.run import Watch
from adhominem.pairs.split import SplitOptions, split
from adhominem.paper.config import Config, preset
from adhominem.questions import answer
from adhominem.questions.evaluate.files import table
from adhominem.questions.paper.inputs import Inputs, PairCosts, PairFile
from adhominem.questions.predict.files import predict
from adhominem.records import Options, Seed, Size, strict_json, with_schema
from adhominem.text.prepare import prepare, prepare_pairs
from adhominem.text.readers import read_pairs
from adhominem.text.writing import write_folder, write_whole
from adhominem.training.ensemble import make_ensemble
from adhominem.training.train import train_files

# The paper's Table 1: 47,340 and 5,261 pairs of the small set, 261,786 and 13,779 of the large one.
SHARES = {"small": (0.9, 0.1, 0.0), "large": (0.95, 0.05, 0.0)}
SHARES_BY_AUTHOR = (0.8, 0.1, 0.1)  # train, dev, and the second stage of the paper's successor
EARLY_BIRD = "data.hidden_topics=1"  # the system of before the deadline knew no fandoms
_HEAT_MAPS = 2  # of each class
_TIMES_EXPLAINED = 40  # encodings of a pair that a heat map takes, about
_MODEL = 0.05  # GB


@dataclass(frozen=True, kw_only=True)
class ExperimentOptions(Options):
    """Which models are trained: `presets` with `settings`, and `members` of each ensemble."""

    presets: tuple[str, ...] = ("pan20",)
    members: Size = 5
    settings: tuple[str, ...] = ()
    seed: Seed = 0

    def config(self, name: str, *settings: str, member: int = 0) -> Config:
        """The config of a preset with these settings and the seed of a member."""
        seed = f"training.seed={self.seed + member}"
        return preset(name).with_settings([*self.settings, *settings, seed])


@dataclass(frozen=True)
class ExperimentPlan:
    """What is done, with what; saved as `plan.json`."""

    options: ExperimentOptions
    inputs: Inputs
    rates: PairCosts


@dataclass(frozen=True)
class ExperimentStep:
    """A piece of work, done if its output exists: that is written whole or not at all."""

    name: str
    output: Path
    needs: tuple[Path, ...]
    work: Callable[..., object]  # takes a `watch`
    seconds: float = 1.0  # expected
    gigabytes: float = 0.0  # on the disk
    memory: float = 0.0  # GB
    epochs: int = 0  # of a training

    def share(self) -> float:
        """How much of it is done, as others can see it."""
        if self.output.exists():
            return 1.0
        log = self.output.with_name(f"{self.output.name}.training") / "member-1" / "log.jsonl"
        with suppress(OSError):
            return log.read_bytes().count(b"\n") / self.epochs if self.epochs else 0.0
        return 0.0


def steps_of(plan: ExperimentPlan, output: Path, device: str, jobs: int) -> list[ExperimentStep]:
    """All steps, each after those that it needs."""
    steps: list[ExperimentStep] = []
    for name in plan.options.presets:
        sizes = list(plan.inputs.sizes)
        if plan.options.config(name).loss.adaptation_size:
            sizes = sizes[-1:]  # the authors trained the successor on the large set
        for size in sizes:
            steps += _OfModel(plan, name, size, output / name / size, device, jobs).steps()
    return steps


@dataclass(frozen=True)
class _OfModel:
    """The steps of one preset and one training set, in a folder."""

    plan: ExperimentPlan
    preset: str
    size: str
    place: Path
    device: str
    jobs: int

    def steps(self) -> Iterator[ExperimentStep]:
        options, rates, place = self.plan.options, self.plan.rates, self.place
        config, source = self._config(), self.plan.inputs.sizes[self.size]
        pairs = source.texts / 2  # of an epoch of all texts
        if config.loss.adaptation_size:
            how = SplitOptions(shares=SHARES_BY_AUTHOR, topic_disjoint=True, seed=options.seed)
            yield self._split(how)
            yield self._prepare("split/train", "corpus", pairs * how.shares[0])
            yield self._prepare("split/test", "calibration", pairs * how.shares[2])
            draw = partial(pair_files, [place / "split/dev"], place / "dev-pairs", balanced=True)
            yield self._step(
                "draw dev pairs",
                "dev-pairs",
                ["split"],
                partial(draw, seed=options.seed),
                2 * pairs * how.shares[1] * rates.reading,
            )
            yield from self._rest("dev-pairs", ["corpus", "dev", "calibration"], how, {})
        else:
            how = SplitOptions(by="pairs", shares=SHARES[self.size], seed=options.seed)
            yield self._split(how)
            yield self._prepare("split/train", "corpus", pairs * how.shares[0])
            bird = self._config(EARLY_BIRD, member=options.members)  # a seed of its own
            alone = {"early-bird": bird} if self.size == "small" else {}
            yield from self._rest("split/dev", ["corpus", "dev"], how, alone)
            yield self._step(
                "heat maps",
                "heat-maps",
                ["single"],
                partial(_draw_heat_maps, place=place, device=self.device),
                2 * _HEAT_MAPS * _TIMES_EXPLAINED * rates.encoding,
            )

    def _rest(
        self, dev: str, packed: Sequence[str], how: SplitOptions, alone: Mapping[str, Config]
    ) -> Iterator[ExperimentStep]:
        """Models, their scores, and answers to the test sets."""
        options, rates, inputs, place = *self._plan(), self.place
        source = inputs.sizes[self.size]
        of_train, of_dev = source.texts / 2 * how.shares[0], source.pairs * how.shares[1]  # pairs
        yield self._step(
            "prepare dev",
            "dev",
            [dev.partition("/")[0]],
            partial(
                prepare_pairs,
                place / dev,
                place / "dev",
                normaliser=self._config().normaliser,
                jobs=self.jobs,
            ),
            of_dev * rates.tokenizing / self.jobs,
            gigabytes=of_dev * rates.packed,
        )
        members = {
            f"member-{at + 1}" if at else "single": self._config(member=at)
            for at in range(options.members)
        }
        for model, config in {**alone, **members}.items():
            epochs = config.training.epochs
            yield self._step(
                f"train {model}",
                model,
                packed,
                partial(
                    _train,
                    inputs=[place / name for name in packed],
                    output=place / model,
                    config=config,
                    device=self.device,
                ),
                epochs * (of_train * rates.training + of_dev * rates.encoding),
                gigabytes=_MODEL,
                memory=rates.memory + of_train * rates.packed,
                epochs=epochs,
            )
        two_stages = "calibration" in packed
        yield self._step(
            "ensemble",
            "ensemble",
            [*members],
            partial(
                _combine,
                [place / model for model in members],
                None if two_stages else place / dev,
                output=place / "ensemble",
                device=self.device,
                jobs=self.jobs,
            ),
            1.0 if two_stages else of_dev * rates.encoding * len(members),
            gigabytes=_MODEL * len(members),
        )
        yield from self._answers(dev, [*alone, "single", "ensemble"], of_dev)

    def _answers(self, dev: str, models: Sequence[str], of_dev: float) -> Iterator[ExperimentStep]:
        options, rates, inputs, place = *self._plan(), self.place
        tests = {test: file for test, file in inputs.tests.items() if file.has_truth}
        scores = f"{'-'.join(['scores', 'dev', *tests])}.json"
        pairs = of_dev + sum(file.pairs for file in tests.values())
        one_stage = dev == "split/dev"
        where: dict[str, Any] = {"device": self.device, "jobs": self.jobs}
        yield self._step(
            "scores",
            scores,
            models,
            partial(
                _score,
                [place / model for model in models],
                {"dev": place / dev, **{test: Path(file.path) for test, file in tests.items()}},
                place / scores,
                # Of two stages, the last decides which pairs are left open: the others answer all.
                delta_from="dev" if one_stage else 0.0,
                measure="overall_2020" if one_stage else "overall_2021",
                by_distance=one_stage,
                **where,
            ),
            pairs * rates.encoding * (len(models) - 1 + options.members),
            memory=1.5e-9 * sum(file.characters for file in tests.values()),
        )
        for test, file in inputs.tests.items():
            yield self._step(
                f"answers to {test}",
                f"answers-{test}.jsonl",
                ["ensemble"],
                partial(
                    predict,
                    place / "ensemble",
                    file.path,
                    place / f"answers-{test}.jsonl",
                    delta="auto" if one_stage else 0.0,
                    **where,
                ),
                file.pairs * rates.encoding * options.members,
            )

    def _plan(self) -> tuple[ExperimentOptions, PairCosts, Inputs]:
        return self.plan.options, self.plan.rates, self.plan.inputs

    def _config(self, *settings: str, member: int = 0) -> Config:
        return self.plan.options.config(self.preset, *settings, member=member)

    def _step(
        self,
        name: str,
        output: str,
        needs: Sequence[str],
        work: Callable[..., object],
        seconds: float = 1.0,
        **cost: Any,
    ) -> ExperimentStep:
        paths = tuple(self.place / need for need in needs)
        name = f"{self.preset}, {self.size}: {name}"
        return ExperimentStep(name, self.place / output, paths, work, seconds, **cost)

    def _split(self, how: SplitOptions) -> ExperimentStep:
        source: PairFile = self.plan.inputs.sizes[self.size]
        return self._step(
            "split",
            "split",
            [],
            partial(split, [source.path], self.place / "split", how),
            3 * source.pairs * self.plan.rates.reading,
            gigabytes=0.4e-9 * source.characters,  # packed
            memory=source.pairs * (2.2e-6 if how.by == "pairs" else 2.5e-5),  # hashes
        )

    def _prepare(self, part: str, output: str, pairs: float) -> ExperimentStep:
        rates = self.plan.rates
        work = partial(prepare, normaliser=self._config().normaliser, jobs=self.jobs)
        return self._step(
            f"prepare {part}",
            output,
            ["split"],
            partial(work, [self.place / part], self.place / output),
            pairs * rates.tokenizing / self.jobs,
            gigabytes=pairs * rates.packed,
        )


def _train(
    *, inputs: Sequence[Path], output: Path, config: Config, device: str, watch: Watch
) -> None:
    corpus, dev, *calibration = inputs
    with watch("training", unit="share") as on_share:

        def hear(event: dict[str, Any]) -> None:
            if event["event"] == "step":
                epochs = event["epoch"] + (event["step"] + 1) / event["steps"]
                on_share(epochs / config.training.epochs)

        train_files(
            [corpus],
            output,
            dev=[dev],
            calibration=calibration,
            config=config,
            device=device,
            resume=True,
            on_event=hear,
        )


def _combine(
    members: Sequence[Path], dev: Path | None, *, output: Path, watch: Watch, **where: Any
) -> None:
    """Make an ensemble, whose non-answers are those that are best for dev, if it is given."""
    delta = None
    if dev is not None:
        with TemporaryDirectory() as scratch:
            draft = make_ensemble(members, Path(scratch) / "ensemble").model
            (row,) = table([draft], [dev], watch=watch, **where).rows
        delta = row.scores["delta"]
    make_ensemble(members, output, delta=delta)


def _score(models: Sequence[Path], sets: Mapping[str, Path], output: Path, **options: Any) -> None:
    scored = table(models, {name: list(read_pairs(path)) for name, path in sets.items()}, **options)
    with write_whole(output) as file:
        file.write(strict_json(with_schema(scored), indent=1) + "\n")


def _draw_heat_maps(*, place: Path, device: str, watch: Watch) -> None:
    """Heat maps of the first dev pairs of each class."""
    with write_folder(place / "heat-maps") as folder:
        for same, what in ((True, "same-author"), (False, "different-authors")):
            pairs = (pair for pair in read_pairs(place / "split/dev") if pair.same_author is same)
            for number, pair in enumerate(islice(pairs, _HEAT_MAPS), start=1):
                answer(
                    "explain",
                    model=place / "single",
                    pairs=place / "split/dev",
                    pair=pair.id,
                    in_windows=True,
                    output=folder / f"{what}-{number}.html",
                    device=device,
                    watch=watch,
                )
