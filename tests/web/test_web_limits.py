"""Places, turns and clients, without a socket."""

from __future__ import annotations

import asyncio

import pytest

from adhominem.web.failures import RequestError
from adhominem.web.limits import Limits, Places, client_of
from adhominem.web.uploads import _AT_ONCE, _Queue


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


def test_of_files_that_wait_the_last_are_read_first_and_who_gives_up_loses_no_place() -> None:
    async def run() -> list[int]:
        queue, go_on, done = _Queue(), asyncio.Event(), []

        async def work(number: int) -> None:
            async with queue.turn():
                await go_on.wait()
                done.append(number)

        tasks = [asyncio.ensure_future(work(number)) for number in range(_AT_ONCE + 4)]
        await asyncio.sleep(0)
        assert len(queue.waiting) == 4
        tasks[_AT_ONCE].cancel()
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.sleep(0)
        tasks[-1].cancel()  # in the very round in which it gets its place
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 2)
        assert not queue.waiting
        async with asyncio.timeout(1), queue.turn(), queue.turn(), queue.turn():
            return done

    assert asyncio.run(run()) == [0, 1, 2, _AT_ONCE + 2, _AT_ONCE + 1]
