"""Counts and times, as printed in several languages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_scrapers.providers.youtube.api_errors import next_quota
from research_scrapers.providers.youtube.counts import parse_count, parse_likes
from research_scrapers.providers.youtube.times import edited, exact, interval, iso

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "value", "is_exact"),
    [
        ("0", 0, True),
        ("12", 12, True),
        ("5,103 Comments", 5103, True),
        ("19.783\u00a0Kommentare", 19783, True),
        ("19.689", 19689, True),
        ("19 689", 19689, True),
        ("19\u202f689 commentaires", 19689, True),
        ("1'234", 1234, True),
        ("1,23,456", 123456, True),
        ("1,234,567", 1234567, True),
        ("1.4K", 1400, False),
        ("1.4k", 1400, False),
        ("1K", 1000, False),
        ("1.4K likes", 1400, False),
        ("21m views", 21_000_000, False),
        ("2.1M", 2_100_000, False),
        ("3B", 3_000_000_000, False),
        ("1,4 Mio.", 1_400_000, False),
        ("1,4\u00a0Tsd.", 1400, False),
        ("1.2万", 12000, False),
        ("3,5 тыс.", 3500, False),
        ("21 Bewertungen", 21, True),
        ('19.689\u00a0"Mag ich"-Bewertungen', 19689, True),
        ("٣", 3, True),
    ],
)
def test_counts(text: str, value: int, is_exact: bool) -> None:
    assert parse_count(text) == (value, is_exact)


@pytest.mark.parametrize("text", [None, "", " ", "Comments", "No comments", "1.4", "1,4", "K", "..."])
def test_no_count_is_guessed(text: str | None) -> None:
    assert parse_count(text) is None


def test_likes() -> None:
    assert parse_likes(" ") == (0, True)
    assert parse_likes("") == (0, True)
    assert parse_likes(None, "7 likes") == (7, True)
    assert parse_likes(None) is None
    assert parse_likes("34K", "34,123 likes") == (34123, True)
    assert parse_likes("34K", "34K likes") == (34000, False)
    assert parse_likes("34K", "Like this along with 5 others") == (34000, False)


@given(st.one_of(st.none(), st.text(), st.from_regex(r"[\d.,' ]{1,60}[KMB]?")))
def test_counts_never_raise(text: str | None) -> None:
    count = parse_count(text)
    assert count is None or count.value >= 0
    parse_likes(text, text)


@pytest.mark.parametrize(
    ("text", "after", "before"),
    [
        ("2 years ago", "2023-11-16T11:59:00Z", "2024-11-16T12:00:00Z"),
        ("1 year ago (edited)", "2024-11-16T11:59:00Z", "2025-11-16T12:00:00Z"),
        ("11 months ago", "2025-11-16T11:59:00Z", "2025-12-21T12:00:00Z"),
        ("3 weeks ago", "2026-10-19T11:59:00Z", "2026-10-26T12:00:00Z"),
        ("1 day ago", "2026-11-14T11:59:00Z", "2026-11-15T12:00:00Z"),
        ("5 hours ago", "2026-11-16T05:59:00Z", "2026-11-16T07:00:00Z"),
        ("10 minutes ago", "2026-11-16T11:48:00Z", "2026-11-16T11:50:00Z"),
        ("0 seconds ago", "2026-11-16T11:58:59Z", "2026-11-16T12:00:00Z"),
        ("just now", "2026-11-16T11:58:00Z", "2026-11-16T12:00:00Z"),
        ("8 yr ago", "2017-11-16T11:59:00Z", "2018-11-18T12:00:00Z"),
        ("3mo ago", "2026-07-16T11:59:00Z", "2026-08-18T12:00:00Z"),
        ("2w ago", "2026-10-26T11:59:00Z", "2026-11-02T12:00:00Z"),
        ("4d ago", "2026-11-11T11:59:00Z", "2026-11-12T12:00:00Z"),
        ("7h ago", "2026-11-16T03:59:00Z", "2026-11-16T05:00:00Z"),
        ("9m ago", "2026-11-16T11:49:00Z", "2026-11-16T11:51:00Z"),
        ("vor 4 Jahren (bearbeitet)", "2021-11-16T11:59:00Z", "2022-11-17T12:00:00Z"),
        ("vor 1 Stunde", "2026-11-16T09:59:00Z", "2026-11-16T11:00:00Z"),
        ("3 年前", None, None),
        ("il y a 2 ans", None, None),
        ("9999 years ago", None, None),
        ("2 blinks ago", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_intervals(text: str | None, after: str | None, before: str | None) -> None:
    assert interval(text, NOW) == (after, before)


@pytest.mark.parametrize(
    ("text", "yes"), [("1 day ago (edited)", True), ("vor 1 Tag (bearbeitet)", True), ("1 day ago", False)]
)
def test_edits(text: str, yes: bool) -> None:
    assert edited(text) is yes


@given(st.text(), st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)))
def test_intervals_never_raise(text: str, now: datetime) -> None:
    interval(text, now.replace(tzinfo=UTC))


@given(
    st.integers(0, 60),
    st.sampled_from(["second", "minute", "hour", "day", "week", "month", "year"]),
    st.datetimes(min_value=datetime(2015, 1, 1), max_value=datetime(2035, 1, 1)),
)
def test_later_bound_is_later(amount: int, unit: str, now: datetime) -> None:
    after, before = interval(f"{amount} {unit}s ago", now.replace(tzinfo=UTC))
    assert after is not None
    assert before is not None
    assert after < before <= iso(now.replace(tzinfo=UTC) + timedelta(seconds=1))


def test_exact_times() -> None:
    assert exact("2019-12-01T04:46:31.000Z") == "2019-12-01T04:46:31Z"
    assert exact("2018-08-02T06:00:08-07:00") == "2018-08-02T13:00:08Z"
    assert exact("2020-02-17") == "2020-02-17"
    assert exact("yesterday") is None
    assert exact(17) is None


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2026-11-16T12:00:00+00:00", "2026-11-17T08:00:00Z"),
        ("2026-07-15T06:59:00+00:00", "2026-07-15T07:00:00Z"),
        ("2026-07-15T07:00:00+00:00", "2026-07-16T07:00:00Z"),
        ("2026-03-08T12:00:00+00:00", "2026-03-09T07:00:00Z"),
        ("2026-11-01T12:00:00+00:00", "2026-11-02T08:00:00Z"),
    ],
)
def test_quota_begins_anew_at_midnight_pacific(now: str, until: str) -> None:
    assert next_quota(datetime.fromisoformat(now)) == until
