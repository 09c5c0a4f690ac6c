"""The watch page through a real Scrapy response: scrapy-mock's ``response`` fixture plays a cassette from fixtures/."""

from datetime import UTC, datetime

import pytest

from research_scrapers.crawling.retry import answer_of
from research_scrapers.models import Options
from research_scrapers.providers.youtube import PROVIDER


@pytest.mark.parametrize("url", ["https://www.youtube.com/watch?v=abcdefghijA"])
def test_a_watch_page_leads_to_the_newest_comments(response):
    route = PROVIDER.comments(None)
    cursor = route.start("abcdefghijA", Options())
    answer = answer_of(response)
    assert PROVIDER.judge(answer) is None
    page = route.read("abcdefghijA", cursor, answer, datetime(2026, 11, 16, tzinfo=UTC), Options())
    assert page.next.token == "NEWEST"
    assert page.video.title == "A walk by the river"
    assert page.session["visitor_data"] == "visitor"
