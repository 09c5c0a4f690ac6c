import inspect

import pytest

from research_scrapers import errors
from research_scrapers.verdicts import RetryPolicy, Verdict, retriable, verdict

LEAVES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.SourceError)]


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (errors.CommentsDisabled(), Verdict.EMPTY),
        (errors.NoCommentSection(), Verdict.EMPTY),
        (errors.VideoPrivate(), Verdict.GIVE_UP),
        (errors.VideoUnavailable(), Verdict.GIVE_UP),
        (errors.AgeRestricted(), Verdict.PARK),
        (errors.NotStartedYet(), Verdict.PARK),
        (errors.RateLimited(), Verdict.WAIT),
        (errors.BotCheck(), Verdict.WAIT),
        (errors.ServerTrouble(), Verdict.RETRY),
        (errors.PartialResponse(), Verdict.RETRY),
        (errors.CursorExpired(), Verdict.RESTART),
        (errors.LayoutChanged(), Verdict.PARK),
        (errors.QuotaExhausted(), Verdict.STOP),
        (errors.StoreFull(), Verdict.STOP),
        (KeyError("surprise"), Verdict.PARK),
    ],
)
def test_each_failure_has_its_verdict(failure, expected):
    assert verdict(failure) is expected


@pytest.mark.parametrize("kind", LEAVES)
def test_every_leaf_belongs_to_a_branch_with_a_verdict(kind):
    if kind is not errors.SourceError:
        assert any(
            issubclass(kind, branch)
            for branch in (
                errors.NothingThere,
                errors.Gone,
                errors.AccessNeeded,
                errors.Blocked,
                errors.Transient,
                errors.CursorExpired,
                errors.LayoutChanged,
            )
        )


def test_only_passing_failures_are_tried_in_a_later_session():
    assert [
        retriable(kind()) for kind in (errors.Timeout, errors.BotCheck, errors.VideoPrivate, errors.AgeRestricted)
    ] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("tried", "chance", "seconds"),
    [(1, 0.0, 1.5), (2, 0.0, 2.25), (3, 0.0, 3.375), (1, 1.0, 2.25), (11, 0.0, 60.0), (10**6, 0.5, 60.0)],
)
def test_backoff(tried, chance, seconds):
    assert RetryPolicy().delay(tried, lambda: chance) == pytest.approx(seconds)


def test_the_message_is_the_meaning_and_the_detail():
    assert str(errors.CommentsDisabled("as the page says.")) == "Comments are turned off: as the page says"
    assert errors.CommentsDisabled().reason == "comments_disabled"
    assert errors.IpBlocked().reason == "ip_blocked"
