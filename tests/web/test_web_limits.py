"""Places and clients, without a socket."""

from __future__ import annotations

import pytest

from adhominem.web.failures import RequestError
from adhominem.web.limits import Limits, Places, client_of


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("::1", "::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_a_client_is_an_address_or_a_network_of_one_household(address: str, client: str) -> None:
    assert client_of({"client": (address, 1)}) == client
    assert client_of({"client": None}) == ""


def test_large_bodies_share_the_memory_and_small_ones_always_have_room() -> None:
    places = Places(Limits(bytes=100_000))
    with places.body() as hold:
        hold(800_000)
        with places.body() as small, places.body() as large:
            small(60_000)
            large(60_000)
            with pytest.raises(RequestError, match="too many requests"):
                large(10_000)
    with places.body() as hold:
        hold(800_000)


def test_no_client_has_all_the_places() -> None:
    places = Places(Limits(requests=3, per_client=2))
    with places.work("a"), places.work("a"):
        with pytest.raises(RequestError, match="too many requests"), places.work("a"):
            pass
        with (
            places.work("b"),
            pytest.raises(RequestError, match="too many requests"),
            places.work("c"),
        ):
            pass
    with places.work("a"):
        pass
