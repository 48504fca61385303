"""The paper's experiment, from PAN's files to its Table 2: what `adhominem paper` does.

`steps.py` lists the steps. After a kill at any point the same call goes on, and several processes
may work in one folder: each takes the first step that can be done and that nobody else is doing.

    OUTPUT/plan.json       settings, inputs, and what was measured
    OUTPUT/PRESET/SIZE/    what the steps make
    OUTPUT/steps.jsonl     how long each took
    OUTPUT/results/        index.html, results.json, table.md
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.context import SpawnProcess
from pathlib import Path

from adhominem.errors import AdHominemError, LockedError, OptionError
from adhominem.jobs.run import Watch, unwatched
from adhominem.processes import cores, helpers
from adhominem.questions.paper.inputs import Inputs, check_inputs, measure
from adhominem.questions.paper.page import Results, collect_results, write_results
from adhominem.questions.paper.steps import (
    ExperimentOptions,
    ExperimentPlan,
    ExperimentStep,
    steps_of,
)
from adhominem.records import from_json, strict_json, with_schema
from adhominem.text.files import noting_inputs
from adhominem.text.writing import locked, write_whole

_WAIT = 0.2  # seconds, for steps that other processes are doing
_LOOK = 1.0  # seconds between two looks at how far they are

# What a step is called, what share of everything is done, and the seconds of one that has ended.
Tell = Callable[[str, float, float | None], None]


@dataclass(frozen=True)
class Cost:
    """What a step is expected to take."""

    step: str
    done: bool
    hours: float
    gigabytes: float  # on the disk


@dataclass(frozen=True)
class Costs:
    """What all steps are expected to take, one at a time."""

    steps: tuple[Cost, ...]
    hours: float  # of those that are not done
    gigabytes: float
    memory: float  # GB, at most
    device: str
    measured: str  # how


def costs_of(plan: ExperimentPlan, output: str | Path, jobs: int | None = None) -> Costs:
    """The steps of a plan, with what is left to do."""
    steps = steps_of(plan, Path(output), plan.rates.device, jobs or cores())
    costs = [
        Cost(step.name, step.output.exists(), step.seconds / 3600, step.gigabytes) for step in steps
    ]
    left = [cost for cost in costs if not cost.done]
    return Costs(
        tuple(costs),
        sum(cost.hours for cost in left),
        sum(cost.gigabytes for cost in left),
        max(step.memory for step in steps),
        plan.rates.device,
        f"from {plan.rates.took:.0f} seconds of reading, tokenizing and training on the first "
        "pairs, here and now",
    )


# Doing it


@dataclass
class _Overall:
    """What hears of the steps, and tells how much of everything is done."""

    steps: Sequence[ExperimentStep]
    tell: Tell
    known: dict[str, float] = field(default_factory=dict)
    looked: float = 0.0

    def say(self, name: str, share: float | None = None, ended: float | None = None) -> None:
        now = time.monotonic()
        if not self.known or ended is not None or now - self.looked > _LOOK:
            for step in self.steps:  # never less: a step may show its parts one after another
                self.known[step.name] = max(step.share(), self.known.get(step.name, 0.0))
            self.looked = now
        if share is not None:
            self.known[name] = max(share, self.known[name])
        done = sum(step.seconds * self.known[step.name] for step in self.steps)
        self.tell(name, done / max(1e-9, sum(step.seconds for step in self.steps)), ended)

    def watch_of(self, step: ExperimentStep) -> Watch:
        """What a step tells how far it is."""

        @contextmanager
        def watch(
            what: str, total: int | None = None, unit: str = "pieces"
        ) -> Iterator[Callable[[float], None]]:
            done, whole = 0.0, 1.0 if unit == "share" else total

            def hear(amount: float) -> None:
                nonlocal done
                done = amount if unit == "share" else done + amount
                self.say(step.name, min(1.0, done / whole) if whole else 0.0)

            yield hear

        return watch


def _do_all(steps: Sequence[ExperimentStep], output: Path, tell: Tell) -> None:
    """Do the steps that nobody else does, until all are done."""
    progress = _Overall(steps, tell)
    while left := [step for step in steps if not step.output.exists()]:
        if not any(_did(step, progress, output) for step in left):
            progress.say(left[0].name)
            time.sleep(_WAIT)


def _did(step: ExperimentStep, progress: _Overall, output: Path) -> bool:
    """Whether this process could do a step, and did."""
    if not all(need.exists() for need in step.needs):
        return False
    try:
        with locked(step.output):
            if step.output.exists():
                return True
            progress.say(step.name, 0.0)
            began = time.monotonic()
            with noting_inputs():
                step.work(watch=progress.watch_of(step))
            assert step.output.exists(), step.name
            seconds = time.monotonic() - began
            with open(output / "steps.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step.name, "seconds": round(seconds, 2)}) + "\n")
            progress.say(step.name, 1.0, seconds)
    except LockedError:
        return False
    except AdHominemError as error:
        raise AdHominemError(f"{step.name}: {error}") from error
    return True


def _help(steps: Sequence[ExperimentStep], output: Path, threads: int) -> None:
    """What a helping process does; an error is left to the first process, which meets it, too."""
    import torch

    torch.set_num_threads(threads)
    with suppress(AdHominemError), warnings.catch_warnings(action="ignore"):
        _do_all(steps, output, lambda *told: None)


def make_plan(
    inputs: Inputs,
    output: str | Path,
    options: ExperimentOptions | None = None,
    *,
    device: str = "auto",
    watch: Watch = unwatched,
) -> ExperimentPlan:
    """Check the inputs and measure, unless OUTPUT/plan.json has both; nothing is written."""
    from adhominem.training.train_network import pick_device

    options, file, old = options or ExperimentOptions(), Path(output) / "plan.json", None
    if file.is_file():
        data = json.loads(file.read_text("utf-8"))
        old = from_json(
            ExperimentPlan, {name: data[name] for name in ("options", "inputs", "rates")}
        )
        for name, value in vars(old.options).items():
            if value != getattr(options, name):
                raise OptionError(
                    f"{output} is an experiment with other settings: {name} is {value}, not "
                    f"{getattr(options, name)}; expected the same, or another folder"
                )
        known = old.inputs.files()
        for name, found in inputs.files().items():
            if name in known and not known[name].is_same(found):
                raise OptionError(
                    f"{output} is an experiment with another file for {name}, {known[name].path} "
                    f"of {known[name].bytes:,} bytes; expected the same, or another folder"
                )
        if inputs.files().keys() <= known.keys():
            return replace(old, inputs=old.inputs.only(inputs))
    inputs = check_inputs(inputs, watch)
    rates = old.rates if old else None
    if rates is None:
        config = options.config(options.presets[0])
        rates = measure(inputs, config, str(pick_device(device)), watch)
    return ExperimentPlan(options, inputs, rates)


def run_experiment(
    plan: ExperimentPlan,
    output: str | Path,
    *,
    device: str = "auto",
    jobs: int | None = None,
    at_once: int = 1,
    tell: Tell = lambda *told: None,
) -> Results:
    """Do all steps that are not done yet, and write the results to OUTPUT/results.

    `at_once` processes share the steps: several trainings on one GPU are little slower than one.
    """
    from adhominem.training.train_network import pick_device

    output = Path(output)
    output.mkdir(parents=True, exist_ok=True)
    with write_whole(output / "plan.json") as file:
        file.write(strict_json(with_schema(plan), indent=1) + "\n")
    threads = max(1, cores() // at_once)
    jobs = jobs or threads
    steps = steps_of(plan, output, str(pick_device(device)), jobs)
    helping: Sequence[SpawnProcess] = ()
    with ExitStack() as stack:
        if at_once > 1:
            import torch

            stack.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(threads)
            helping = stack.enter_context(helpers(at_once - 1, _help, steps, output, threads))
        _do_all(steps, output, tell)
        for process in helping:  # which have only to note what their last step took
            process.join()
    results = collect_results(output, plan)
    with suppress(LockedError):  # another process in this folder has just ended, too
        write_results(results, output)
    return results
