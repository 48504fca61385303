"""How much one request may ask for, and how much all of them together."""

from __future__ import annotations

from dataclasses import dataclass

from adhominem.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is more than this is refused, with a message that says so."""

    bytes: int = 16 << 20  # of one request
    seconds: float = 120.0  # until the answer
    texts: int = 100  # of a side, or to encode
    population_texts: int = 1_000
    characters: int = 2_000_000  # of the texts that are compared or encoded; a long novel
    explained_characters: int = 500_000  # an explanation reads the texts many times
    waiting: int = 64  # requests in a queue
    jobs_at_once: int = 32  # whose texts are encoded together
    requests: int = 256  # being answered

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise OptionError(f"the limit '{name}' is {value}; expected more than 0")

    @property
    def held_bytes(self) -> int:
        """Of all requests that are being answered."""
        return 8 * self.bytes
