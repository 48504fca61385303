"""What scores are worth, by what they were made with."""

from __future__ import annotations

from dataclasses import dataclass, field

from adhominem.scoring.fusion import Scale
from adhominem.scoring.population import Population


@dataclass(frozen=True)
class Scales:
    """What scores are worth: without a relevant population, with one, with companions in it."""

    alone: Scale = field(default_factory=Scale)
    population: Scale | None = None
    companions: Scale | None = None
    usual_clearness: tuple[float, ...] = ()  # of each member: see `scoring.companions`

    def of(self, population: Population | None) -> Scale:
        """The scale for a comparison with this population, or without one.

        A model that was not calibrated with populations is not calibrated then.
        """
        if population is None:
            return self.alone
        if population.companions is not None:
            return self.companions or Scale()
        return self.population or Scale(self.alone.fusion)
