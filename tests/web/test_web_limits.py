"""Places, turns and clients, without a socket."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from adhominem.web.failures import RequestError
from adhominem.web.limits import FairQueue, Limits, Pace, Places, client_of


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


def test_a_pace_is_kept_by_what_comes_and_not_by_what_came_long_ago() -> None:
    pace = Pace(Limits(stall_seconds=10, bytes_a_second=100, seconds=60), 0)
    assert pace.deadline == 10
    pace.hear(200, 5)
    assert pace.deadline == 12
    pace.hear(1_000_000, 6)
    assert pace.deadline == 16  # a flood now does not buy a long silence
    pace.hear(1_000_000, 55)
    assert pace.deadline == 60


def test_clients_take_turns() -> None:
    async def run() -> list[str]:
        queue, done = FairQueue(1, 20), []

        async def work(client: str) -> None:
            async with queue.turn(client):
                await asyncio.sleep(0)
                done.append(client)

        tasks = [asyncio.ensure_future(work(client)) for client in "aaaabbc"]
        await asyncio.gather(*tasks)
        return done

    assert asyncio.run(run()) == list("aabcaba")


def test_where_the_first_wait_too_long_the_last_is_served() -> None:
    async def run() -> list[int]:
        queue, done = FairQueue(1, 20, patience=0.1), []

        async def work(number: int) -> None:
            async with queue.turn("a"):
                await asyncio.sleep(0.3 if number == 0 else 0)
                done.append(number)

        await asyncio.gather(*(work(number) for number in range(4)))
        return done

    assert asyncio.run(run()) == [0, 3, 2, 1]


def test_of_a_queue_a_client_gets_half_and_who_gives_up_loses_no_place() -> None:
    async def run() -> None:
        queue = FairQueue(1, 4)
        go_on = asyncio.Event()

        async def work(client: str) -> None:
            async with queue.turn(client):
                await go_on.wait()

        tasks = [asyncio.ensure_future(work("a")) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(RequestError, match="too many"):
            await work("a")
        tasks.append(asyncio.ensure_future(work("b")))
        await asyncio.sleep(0)
        await asyncio.wait_for(queue.wanted.wait(), 1)
        tasks[1].cancel()
        go_on.set()
        await asyncio.wait(tasks)
        async with asyncio.timeout(1), queue.turn("c"):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(queue.wanted.wait(), 0.01)

    asyncio.run(run())


def test_a_place_that_comes_as_one_gives_up_goes_to_the_next() -> None:
    async def run() -> list[int]:
        queue, done = FairQueue(1, 20), []
        go_on = asyncio.Event()

        async def work(number: int) -> None:
            async with queue.turn("a"):
                await go_on.wait()
                done.append(number)

        tasks = [asyncio.ensure_future(work(number)) for number in range(4)]
        await asyncio.sleep(0)
        go_on.set()
        tasks[1].cancel()  # in the very round in which the first ends
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 2)
        async with asyncio.timeout(2), queue.turn("b"):
            return done

    assert asyncio.run(run()) == [0, 2, 3]


def test_who_is_just_being_given_up_cannot_make_room() -> None:
    async def run() -> None:
        places = Places(Limits(requests=2, per_client=2))
        async with places.receive("a") as receiving:
            receiving.timeout.reschedule(asyncio.get_running_loop().time())
            while not receiving.timeout.expired():
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0)
            with pytest.raises(RequestError, match="too many"):
                async with places.receive("a"):
                    pass

    asyncio.run(run())


def test_the_slowest_makes_room_and_is_told_so() -> None:
    async def run() -> None:
        limits = Limits(requests=8, per_client=4)
        places = Places(limits)

        async def receive(client: str, pieces: int) -> None:
            async with places.receive(client) as receiving:
                for _ in range(pieces):
                    await asyncio.sleep(0.01)
                    places.hold(receiving, 1_000)
                await asyncio.sleep(5)

        quick = asyncio.ensure_future(receive("a", 100))
        slow = asyncio.ensure_future(receive("a", 0))
        other = asyncio.ensure_future(receive("b", 0))
        await asyncio.sleep(0.1)
        third = asyncio.ensure_future(receive("a", 0))
        with pytest.raises(RequestError, match="too many requests"):
            await asyncio.wait_for(slow, 2)
        for task in (quick, other, third):
            assert not task.done()
            task.cancel()

    asyncio.run(run())
