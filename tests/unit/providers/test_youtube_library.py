"""The library decides the same by what we hand it as by the whole page."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import requests
from youtube_transcript_api._transcripts import TranscriptListFetcher

from research_scrapers.providers.youtube.library import what_the_library_reads

ROOT = Path(__file__).resolve().parents[3]
RECORDINGS = Path(os.environ.get("RESEARCH_RECORDINGS", ROOT.parent / "shared" / "recordings")) / "youtube"
PAGES = sorted(
    [*(ROOT / "fixtures" / "youtube").glob("*/*/input.html")]
    + [path for kind in ("watch_html", "consent_html", "block_html") for path in RECORDINGS.glob(f"{kind}/*")]
)
MADE = {
    "key": b'<html>"INNERTUBE_API_KEY": "AIza-x_1", rest</html>',
    "two keys": b'<html>"INNERTUBE_API_KEY":"first" "INNERTUBE_API_KEY":"second"</html>',
    "no key": b"<html>nothing</html>",
    "empty key": b'<html>"INNERTUBE_API_KEY":""</html>',
    "captcha": b'<html><div class="g-recaptcha"></div></html>',
    "consent": b'<html><form action="https://consent.youtube.com/s"><input name="v" value="cb.1"></form></html>',
    "consent without a value": b'<html><form action="https://consent.youtube.com/s"></form></html>',
    "consent and a key": b'<html><form action="https://consent.youtube.com/s">"INNERTUBE_API_KEY":"AIza"</form></html>',
    "escaped key": b"<html>&quot;INNERTUBE_API_KEY&quot;:&quot;AIza&quot;</html>",
    "nothing": b"",
}


class Client:
    """Answers every request with one body, and remembers what the library asked and kept."""

    def __init__(self, body: bytes) -> None:
        self.cookies = requests.cookies.RequestsCookieJar()
        self.asked = 0
        self._body = body

    def get(self, url: str) -> requests.Response:
        self.asked += 1
        answer = requests.Response()
        answer.status_code, answer.encoding, answer._content = 200, "utf-8", self._body
        return answer


def decided(body: bytes) -> tuple[object, ...]:
    """The key that the library reads in a page or why it reads none, how often it asks, and which cookies it keeps."""
    client = Client(body)
    fetcher = TranscriptListFetcher(client, None)
    try:
        found = fetcher._extract_innertube_api_key(fetcher._fetch_video_html("aaaaaaaaaaA"), "aaaaaaaaaaA")
    except Exception as error:
        found = type(error).__name__
    return found, client.asked, client.cookies.get_dict()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_pages(path):
    body = path.read_bytes()
    assert decided(what_the_library_reads(body)) == decided(body)


@pytest.mark.parametrize("body", MADE.values(), ids=MADE)
def test_made_pages(body):
    assert decided(what_the_library_reads(body)) == decided(body)


def test_a_large_page_becomes_small_and_other_answers_stay():
    page = b"<html>" + b"&amp;" * 100_000 + MADE["key"]
    assert len(what_the_library_reads(page)) < 100
    for answer in (b'{"INNERTUBE_API_KEY": "x"}', b'<transcript><text>"INNERTUBE_API_KEY":"x"</text></transcript>'):
        assert what_the_library_reads(answer) == answer
