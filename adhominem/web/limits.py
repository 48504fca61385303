"""How much one request may ask for, one client, and all of them together."""

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
    population_characters: int = 8_000_000
    explained_characters: int = 500_000  # an explanation reads the texts many times
    label_characters: int = 500  # of a name, a topic, a heading
    waiting: int = 64  # requests in a queue
    jobs_at_once: int = 32  # whose texts are encoded together
    requests: int = 256  # being answered
    per_client: int = 128  # of these, for one address
    header_seconds: float = 10.0  # until a request's headers have come, and between two requests
    stall_seconds: float = 10.0  # that a body may fall behind its lowest rate
    bytes_a_second: int = 10_000  # the lowest rate of a body

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise OptionError(f"the limit '{name}' is {value}; expected more than 0")

    @property
    def held_bytes(self) -> int:
        """Of all requests that are being answered."""
        return 8 * self.bytes

    @property
    def waiting_of_client(self) -> int:
        """Of the places in a queue, those that one address may take."""
        return max(1, self.waiting * 3 // 4)

    @property
    def connections(self) -> int:
        """That are open. More than requests: those that wait can always make room."""
        return 4 * self.requests

    @property
    def connections_of_client(self) -> int:
        """Of one address."""
        return 4 * self.per_client
