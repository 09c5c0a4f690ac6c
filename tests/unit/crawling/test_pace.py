"""How slowly Bilibili is asked by default, and how long after a refusal, by a clock that nobody has to wait for."""

import pytest
from scrapy import Request
from scrapy.settings import Settings

from research_scrapers import errors
from research_scrapers.config import Config, Limits
from research_scrapers.crawling.gate import Gate, Ticket
from research_scrapers.crawling.retry import Retrier
from research_scrapers.errors import SettingInvalid
from research_scrapers.providers import providers
from research_scrapers.verdicts import RetryPolicy
from tests.factories import Clock
from tests.unit.crawling.test_gate import entered, on_loop

LINE = "bilibili:comments:comments"


def limits(**changes):
    settings = Settings()
    settings.setmodule("research_scrapers.settings", priority="project")
    settings.setdict(changes, priority="cmdline")
    return Config.from_settings(settings).limits


def pace(domain="bilibili.com", **changes):
    found = limits(**changes).pace(domain)
    return found.in_flight, found.rate, found.burst


def ticket(domain="bilibili.com"):
    return Ticket(domain, LINE, "comments")


async def sent(gate, clock, seconds, domain="bilibili.com"):
    """How many requests go out in so many seconds, each answered at once."""
    count, end = 0, clock.now + seconds
    while clock.now < end:
        one = ticket(domain)
        if gate._hindrance(one):
            clock.now += 0.25
            continue
        await gate.enter(one)
        gate.leave(one)
        count += 1
    return count


def test_the_defaults():
    assert pace() == (2, 1.0, 20)
    assert pace("hdslb.com") == (4, 2.0, 40)
    assert pace("b23.tv") == (1, 1.0, 5)
    assert pace("youtube.com") == (16, 5.0, 3000)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"DOMAIN_CONCURRENCY": "bilibili.com=4"}, (4, 1.0, 20)),
        ({"DOMAIN_CONCURRENCY": {"bilibili.com": 4}}, (4, 1.0, 20)),
        ({"DOMAIN_CONCURRENCY": '{"bilibili.com": 4}'}, (4, 1.0, 20)),
        ({"DOMAIN_RATES": "bilibili.com=0"}, (2, 0.0, 20)),
        ({"DOMAIN_RATES": "youtube.com=1, bilibili.com=0.5"}, (2, 0.5, 20)),
        ({"CONCURRENT_REQUESTS_PER_DOMAIN": 3}, (3, 1.0, 20)),
        ({"DOMAIN_RATE": 4}, (2, 4.0, 20)),
        ({"DOMAIN_BURST": 7}, (2, 1.0, 7)),
        ({"DOWNLOAD_DELAY": 0.5}, (2, 5.0, 3000)),
        ({"DOMAIN_RATE": 4, "DOMAIN_RATES": "bilibili.com=2"}, (2, 2.0, 20)),
    ],
)
def test_what_a_person_decides_wins(settings, expected):
    assert pace(**settings) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"DOMAIN_CONCURRENCY": "bilibili.com"}, "write it as bilibili.com=2"),
        ({"DOMAIN_CONCURRENCY": "bilibili.com=two"}, "write it as"),
        ({"DOMAIN_CONCURRENCY": "bilibili.com=0"}, "at least 1"),
        ({"DOMAIN_CONCURRENCY": "bilbili.com=2"}, "no domain of ours. Did you mean bilibili.com"),
        ({"DOMAIN_RATES": "bilibili.com=-1"}, "at least 0"),
        ({"DOMAIN_RATES": "bilibili.com=inf"}, "at least 0"),
        ({"DOMAIN_RATES": "bilibili.com=nan"}, "at least 0"),
        ({"DOMAIN_RATES": "{"}, "write it as"),
        ({"DOMAIN_RATES": "[1]"}, "write it as"),
    ],
)
def test_a_wrong_value_is_one_clear_error(settings, message):
    with pytest.raises(SettingInvalid, match=message):
        limits(**settings)


@on_loop
async def test_two_in_flight_and_one_a_second_after_a_burst_of_twenty():
    clock = Clock()
    gate = Gate(limits(), clock)
    assert await entered(gate, ticket(), ticket(), ticket(), ticket("youtube.com")) == [True, True, False, True]
    gate = Gate(limits(), clock)
    assert await sent(gate, clock, 1) == 20
    assert await sent(gate, clock, 60) in (60, 61)


@on_loop
async def test_told_to_slow_down_it_is_slower_and_never_faster_than_before():
    clock = Clock()
    gate = Gate(limits(), clock)
    await sent(gate, clock, 10)
    gate.slow_down("bilibili.com")
    assert await sent(gate, clock, 20) <= 11
    for _ in range(200):  # the pace comes back, but not beyond the domain's own
        gate.served("bilibili.com")
        clock.now += 0.01
    await sent(gate, clock, 1)
    assert await sent(gate, clock, 30) <= 31


PAUSES = {
    errors.RiskControl: 1800,
    errors.AddressBanned: 1800,
    errors.RequestBanned: 1800,
    errors.VoucherOnly: 1800,
    errors.OverLimit: 30,
    errors.TooFrequent: 30,
    errors.SignatureRefused: 60,
    errors.SilentRefusal: 60,
}


def refusals(leaf, **changes):
    """The pauses until the line gives up, with nothing served between."""
    clock = Clock()
    gate = Gate(Limits(**changes), clock)
    retrier = Retrier(RetryPolicy(), gate, LINE, clock=clock)
    meta = {"research_line": LINE, "research_pace": "bilibili.com", "research_sub_job": 1}
    request = Request("https://api.bilibili.com/", meta=meta)
    pauses = []
    while request is not None and len(pauses) < 20:
        request = retrier.again(request, leaf())
        pauses.append(round(gate.breaker(LINE).open_for()))
        clock.now += pauses[-1] + 0.01
    return pauses


@pytest.mark.parametrize("leaf", PAUSES, ids=lambda leaf: leaf.__name__)
def test_the_pause_is_what_people_report_as_needed(leaf):
    pauses = refusals(leaf)
    assert pauses[0] == PAUSES[leaf]
    if PAUSES[leaf] >= 600:
        assert len(pauses) == 2, "one more try after a ban, and no other"
    else:
        assert pauses[1:4] == [round(PAUSES[leaf] * 1.6**n) for n in (1, 2, 3)]
        assert max(pauses) <= 900


def test_a_pause_that_a_person_set_is_obeyed():
    assert refusals(errors.AddressBanned, cooldown_s=1.0, unhurried=False)[0] == 1
    assert limits().unhurried
    assert not limits(BREAKER_COOLDOWN_S=5).unhurried


def test_every_pace_is_for_a_domain_that_is_asked():
    for provider in providers().values():
        assert set(provider.paces) <= set(provider.hosts.values())
