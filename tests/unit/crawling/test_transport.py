"""What a transport failure stands for: what may pass is tried again, and never taken for a site that changed."""

import pytest
from twisted.internet import error

from research_scrapers.crawling.retry import failure_of
from research_scrapers.errors import ConnectionLost, Timeout


@pytest.mark.parametrize(
    ("raised", "leaf"),
    [
        (error.ConnectBindError(24, "Too many open files"), ConnectionLost),
        (error.NoRouteError(113, "No route to host"), ConnectionLost),
        (error.ConnectionLost(), ConnectionLost),
        (OSError(24, "Too many open files"), ConnectionLost),
        (TimeoutError(), Timeout),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_passes_is_tried_again(raised, leaf):
    assert type(failure_of(raised)) is leaf


def test_a_mistake_of_ours_is_none():
    assert failure_of(KeyError("x")) is None
