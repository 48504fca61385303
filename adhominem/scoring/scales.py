"""What scores are worth, by what they were made with."""

from __future__ import annotations

from dataclasses import dataclass, field

from adhominem.errors import ModelError
from adhominem.scoring.fusion import Scale
from adhominem.scoring.population import Population


@dataclass(frozen=True)
class Scales:
    """What scores are worth: without a relevant population, with one, with companions in it."""

    alone: Scale = field(default_factory=Scale)
    population: Scale | None = None
    companions: Scale | None = None
    usual_separation: tuple[float, ...] = ()  # of each member: see `scoring.companions`

    def of(self, population: Population | None) -> Scale:
        """The scale for a comparison with this population, or without one.

        A model that was not calibrated with populations is not calibrated then.
        """
        if population is None:
            return self.alone
        if population.companions is not None:
            return self.companions or Scale()
        return self.population or Scale(self.alone.fusion)

    def check(self, name: str, members: int, contexts: int) -> None:
        """A ModelError unless they are for so many members, and contexts of their scores."""
        found = ""
        if len(self.usual_separation) not in (0, members):
            found = f"usual_separation is for {len(self.usual_separation)} members"
        for scale in (self.alone, self.population, self.companions):
            if scale is None or not scale.fusion.weights:
                continue
            rows, columns = len(scale.fusion.weights), len(scale.fusion.weights[0])
            if columns != 1 + members + contexts:
                found = f"weights for {columns - 1} scores"
            elif scale.fusion.method == "mean" and rows != members:
                found = f"{rows} rows of weights"
        if found:
            raise ModelError(
                f"the calibration of {name} is damaged, or that of another model ({found}; there "
                f"are {members}); calibrate the model again"
            )
