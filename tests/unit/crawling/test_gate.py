import asyncio

import pytest
from pytest_twisted import ensureDeferred
from twisted.internet.defer import Deferred

from research_scrapers.config import Limits
from research_scrapers.crawling.gate import Gate, GateClosed, Ticket


def on_loop(test):
    """An asyncio test, run on the reactor's loop."""

    def run():
        return ensureDeferred(lambda: Deferred.fromFuture(asyncio.ensure_future(test())))()

    run.__name__ = test.__name__
    return run


def ticket(domain="youtube.com", artifact="comments", line="youtube:comments", **more):
    return Ticket(domain, line, artifact, **more)


async def entered(gate, *tickets):
    """Which of these are let in without anybody leaving."""
    tasks = [asyncio.ensure_future(gate.enter(one)) for one in tickets]
    await asyncio.sleep(0.01)
    done = [task.done() for task in tasks]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return done


@on_loop
async def test_no_more_than_the_cap_of_one_domain():
    gate = Gate(Limits(total=9, per_domain=2, per_artifact=9))
    assert await entered(gate, ticket(), ticket(), ticket(), ticket("other.com")) == [True, True, False, True]


@on_loop
async def test_no_more_than_the_cap_of_one_artifact_over_all_domains():
    gate = Gate(Limits(total=9, per_domain=9, per_artifact=2))
    assert await entered(gate, ticket("a"), ticket("b"), ticket("c"), ticket("c", "transcript")) == [
        True,
        True,
        False,
        True,
    ]


@on_loop
async def test_no_more_than_the_cap_in_all():
    gate = Gate(Limits(total=2, per_domain=9, per_artifact=9))
    assert await entered(gate, ticket("a"), ticket("b", "x"), ticket("c", "y")) == [True, True, False]


@on_loop
async def test_who_leaves_lets_the_next_in_by_priority():
    gate = Gate(Limits(per_domain=1))
    first = ticket()
    await gate.enter(first)
    low, high = ticket(priority=0), ticket(priority=200)
    waiting = [asyncio.ensure_future(gate.enter(one)) for one in (low, high)]
    await asyncio.sleep(0)
    assert (gate.in_flight, gate.waiting) == (1, 2)
    gate.leave(first)
    await asyncio.sleep(0)
    assert [task.done() for task in waiting] == [False, True]
    gate.leave(high)
    await waiting[0]
    gate.leave(low)
    assert (gate.in_flight, gate.waiting) == (0, 0)


@on_loop
async def test_whoever_gives_up_while_waiting_takes_no_place():
    gate = Gate(Limits(per_domain=1))
    first = ticket()
    await gate.enter(first)
    waiting = asyncio.ensure_future(gate.enter(ticket()))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    gate.leave(first)
    assert (gate.in_flight, gate.waiting) == (0, 0)


@on_loop
async def test_whoever_gives_up_just_when_let_in_leaves_again():
    gate = Gate(Limits(per_domain=1))
    first = ticket()
    await gate.enter(first)
    waiting = asyncio.ensure_future(gate.enter(ticket()))
    await asyncio.sleep(0)
    gate.leave(first)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert gate.in_flight == 0


@on_loop
async def test_a_pause_holds_its_domain_only():
    gate = Gate(Limits())
    gate.pause("youtube.com", 0.05)
    assert await entered(gate, ticket(), ticket("other.com")) == [False, True]
    assert 0 < gate.paused_for("youtube.com", "youtube:comments") <= 0.05
    began = asyncio.get_running_loop().time()
    await gate.enter(ticket())
    assert asyncio.get_running_loop().time() - began >= 0.03


@on_loop
async def test_a_shorter_pause_does_not_cut_a_longer_one_short():
    gate = Gate(Limits())
    gate.pause("youtube.com", 10)
    gate.pause("youtube.com", 1)
    assert gate.paused_for("youtube.com", "x") > 9


@on_loop
async def test_a_request_waits_for_its_moment():
    gate = Gate(Limits())
    assert await entered(gate, ticket(not_before=gate.clock() + 5), ticket()) == [False, True]


@on_loop
async def test_the_bucket_allows_a_burst_then_a_rate():
    gate = Gate(Limits(rate=20, burst=3))
    assert await entered(gate, *(ticket() for _ in range(5))) == [True, True, True, False, False]
    began = asyncio.get_running_loop().time()
    await asyncio.gather(*(gate.enter(ticket()) for _ in range(4)))
    assert asyncio.get_running_loop().time() - began >= 0.12


@on_loop
async def test_no_rate_no_bucket():
    gate = Gate(Limits(rate=0, burst=1))
    assert await entered(gate, *(ticket() for _ in range(5))) == [True] * 5


@on_loop
async def test_an_open_breaker_holds_its_line_only_and_lets_one_probe_out():
    now = 100.0
    gate = Gate(Limits(cooldown_s=30), clock=lambda: now)
    gate.breaker("youtube:comments").refused("video")
    assert await entered(gate, ticket(), ticket(line="youtube:transcript")) == [False, True]
    now += 60
    assert await entered(gate, ticket(), ticket()) == [True, False]
    gate.breaker("youtube:comments").served_well()
    assert await entered(gate, ticket(), ticket()) == [True, True]


@on_loop
async def test_closing_a_line_sends_its_waiters_away_and_no_others():
    gate = Gate(Limits(per_domain=1))
    await gate.enter(ticket())
    waiting = asyncio.ensure_future(gate.enter(ticket()))
    other = asyncio.ensure_future(gate.enter(ticket(line="youtube:transcript")))
    await asyncio.sleep(0)
    gate.close("youtube:comments")
    with pytest.raises(GateClosed):
        await waiting
    with pytest.raises(GateClosed):
        await gate.enter(ticket())
    assert not other.done()
    other.cancel()


@on_loop
async def test_a_pause_declared_after_a_request_was_let_in_holds_it_back_too():
    gate = Gate(Limits())
    await gate.enter(ticket())
    gate.pause("youtube.com", 0.05)
    began = asyncio.get_running_loop().time()
    await gate.hold("youtube.com", "youtube:comments")
    assert asyncio.get_running_loop().time() - began >= 0.04
    gate.pause("youtube.com", 60)
    gate.close("youtube:comments")
    with pytest.raises(GateClosed):
        await gate.hold("youtube.com", "youtube:comments")


@on_loop
async def test_the_probe_does_not_wait_for_itself():
    gate = Gate(Limits(cooldown_s=0.02))
    gate.breaker("youtube:comments").refused("x")
    await gate.enter(ticket())
    await asyncio.wait_for(gate.hold("youtube.com", "youtube:comments"), 0.5)
