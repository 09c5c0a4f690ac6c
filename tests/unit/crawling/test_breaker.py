import pytest

from research_scrapers.crawling.breaker import NEVER, Breaker
from tests.factories import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def breaker(clock):
    return Breaker(cooldown_s=2, cap_s=10, threshold=3, patience=2, clock=clock)


def test_closed_lets_all_go(breaker):
    assert (breaker.state, breaker.wait()) == ("closed", 0)


def test_one_refusal_opens_it_then_one_probe_decides(breaker, clock):
    assert breaker.refused("a") == 2
    assert (breaker.state, breaker.wait()) == ("open", 2)
    clock.now += 2
    assert (breaker.state, breaker.wait()) == ("half-open", 0)
    breaker.probing()
    assert breaker.wait() > 0  # the others wait for the probe
    breaker.served_well()
    assert (breaker.state, breaker.wait()) == ("closed", 0)


def test_a_probe_that_vanishes_does_not_hold_the_line_for_ever(breaker, clock):
    breaker.refused("a")
    clock.now += 2
    breaker.probing()
    clock.now += 61
    assert breaker.wait() == 0


def test_answers_under_way_when_it_opened_do_not_prolong_it(breaker):
    breaker.refused("a")
    assert breaker.refused("b") == 2
    assert not breaker.exhausted


def test_cooldown_grows_until_patience_ends_and_a_good_answer_resets_it(breaker, clock):
    waits = []
    while not breaker.exhausted:
        waits.append(breaker.refused("a"))
        clock.now += waits[-1]
    assert waits == pytest.approx([2, 3.2, 5.12])
    breaker.served_well()
    assert not breaker.exhausted
    assert breaker.refused("a") == 2


def test_cooldown_is_capped(clock):
    breaker = Breaker(cooldown_s=2, cap_s=5, patience=99, clock=clock)
    for _ in range(20):
        wait = breaker.refused("a")
        clock.now += wait
    assert wait == 5


def test_a_site_that_says_when_to_come_back_is_believed_and_costs_no_patience(breaker, clock):
    for _ in range(10):
        assert breaker.refused("a", retry_after=30) == 30
        clock.now += 30
    assert not breaker.exhausted
    assert breaker.state == "half-open"


def test_faults_open_it_only_when_many_in_a_row(breaker):
    breaker.fault("a")
    breaker.fault("a")
    breaker.served_well()
    breaker.fault("a")
    breaker.fault("a")
    assert breaker.state == "closed"
    breaker.fault("a")
    assert breaker.state == "open"


def test_one_bad_thread_is_not_an_outage_but_many_sub_jobs_are(breaker, clock):
    for _ in range(30):
        breaker.fault("the same")
        clock.now += 20
    assert not breaker.exhausted
    for number in range(30):
        breaker.fault(number)
        clock.now += 20
    assert breaker.exhausted


def test_a_probe_that_goes_again_does_not_wait_for_itself(breaker, clock):
    breaker.refused("a")
    clock.now += 2
    breaker.probing()
    assert breaker.wait() > 0
    breaker.goes_again()
    assert breaker.wait() == 0
    assert breaker.state == "half-open"


def test_a_share_of_faults_opens_it_though_none_follow_each_other(clock):
    breaker = Breaker(cooldown_s=2, threshold=9, share=0.5, sample=10, clock=clock)
    for _ in range(4):
        breaker.fault("a")
        breaker.served_well()
    assert breaker.state == "closed"  # 4 of 8: not enough results to tell
    breaker.served_well()
    breaker.fault("a")
    assert breaker.state == "open"  # 5 of 10
    clock.now += 2
    breaker.probing()
    breaker.served_well()
    breaker.fault("a")
    assert breaker.state == "closed"  # the count began anew


def test_a_fault_of_the_probe_opens_it_again(breaker, clock):
    breaker.refused("a")
    clock.now += 2
    breaker.probing()
    breaker.fault("b")
    assert breaker.state == "open"


def test_never_means_never(clock):
    breaker = Breaker(cooldown_s=NEVER, threshold=3, clock=clock)
    breaker.fault("a")
    assert not breaker.exhausted
    breaker.refused("a")
    clock.now += 1e9
    assert (breaker.state, breaker.exhausted, breaker.open_for()) == ("open", True, NEVER)
