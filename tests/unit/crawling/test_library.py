"""How a library's thread waits for what Scrapy downloads."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
import requests

from research_scrapers.crawling.library import EngineAdapter


class JustTooLate(Future):
    """Is done in the moment between the waiting that ends in vain and the next look."""

    def result(self, timeout=None):
        if timeout is not None and not self.done():
            self.come()
            raise TimeoutError
        return super().result(timeout)


def adapter(running=True):
    return EngineAdapter(None, SimpleNamespace(is_running=lambda: running))


def test_an_answer_that_comes_while_we_look_away_is_no_timeout():
    coming = JustTooLate()
    coming.come = lambda: coming.set_result("answer")
    assert adapter()._wait(coming) == "answer"


def test_a_download_that_timed_out_says_so_itself():
    coming = JustTooLate()
    coming.come = lambda: coming.set_exception(TimeoutError("after 30 s"))
    with pytest.raises(TimeoutError, match="after 30 s"):
        adapter()._wait(coming)


def test_nobody_waits_for_a_loop_that_has_stopped():
    coming = JustTooLate()
    coming.come = lambda: None
    with pytest.raises(requests.ConnectionError, match="the program is ending"):
        adapter(running=False)._wait(coming)
