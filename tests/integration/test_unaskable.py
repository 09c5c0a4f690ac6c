"""A cursor that cannot be asked for ends by name: the walk does not wait for an answer that never comes."""

import pytest
from pytest_twisted import ensureDeferred

from research_scrapers.errors import CursorExpired, LayoutChanged
from research_scrapers.models import Ask
from research_scrapers.providers.youtube.web import WebRoute


@ensureDeferred
@pytest.mark.parametrize("how", ["expired", "elsewhere"])
@pytest.mark.parametrize("steps", [("watch",), ("first", "page"), ("replies",)], ids=lambda steps: steps[0])
async def test_what_cannot_be_asked_for(replica, workplace, monkeypatch, how, steps):
    yt = replica("--videos", "1", "--comments", "60-80")
    ask = WebRoute.ask

    def broken(self, video_id, cursor, session, options):
        if cursor.step not in steps:
            return ask(self, video_id, cursor, session, options)
        if how == "expired":
            raise CursorExpired("nobody can read it")
        return Ask("https://169.254.169.254/latest")

    monkeypatch.setattr(WebRoute, "ask", broken)
    work = workplace(yt.origin)
    work.links(*yt.videos)
    await work.crawl_here()
    ((status, reason),) = work.query("SELECT status, reason FROM sub_jobs")
    named = {"expired": CursorExpired("").reason, "elsewhere": LayoutChanged("").reason}[how]
    assert (status, reason) in (("failed", named), ("success", "threads_failed"))
    assert not any("169.254" in line for line in yt.counters(log=True).get("log", []))
