"""What is asked: addresses, headers and bodies, and that no secret is among them."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from research_scrapers.errors import LinkNotRecognised
from research_scrapers.models import MAIN, Cursor, Options
from research_scrapers.providers import providers
from research_scrapers.providers.youtube import PROVIDER
from research_scrapers.providers.youtube.api import ApiRoute
from research_scrapers.providers.youtube.endpoints import CLIENT_VERSION
from research_scrapers.providers.youtube.web import WebRoute

VIDEO = "dQw4w9WgXcQ"
SESSION = {"client_version": "2.20261101.01.00", "visitor_data": "Cgt%3D%3D"}


def test_a_key_chooses_the_route_and_never_travels_in_it() -> None:
    assert isinstance(PROVIDER.comments(None), WebRoute)
    route = PROVIDER.comments("secret-key")
    assert isinstance(route, ApiRoute)
    for cursor in (route.start(VIDEO, Options()), Cursor(MAIN, "threads", "t"), Cursor("UgxRoot", "replies")):
        ask = route.ask(VIDEO, cursor, {}, Options())
        assert ask.official
        assert ask.quota == 1
        assert "key" not in parse_qs(urlsplit(ask.url).query)
        assert "secret-key" not in f"{ask}"


def test_watch_page() -> None:
    ask = WebRoute().ask(VIDEO, WebRoute().start(VIDEO, Options()), {}, Options())
    assert ask.url == f"https://www.youtube.com/watch?v={VIDEO}&hl=en&bpctr=9999999999&has_verified=1"
    assert ask.method == "GET"
    assert ask.headers == {"Accept-Language": "en"}


@pytest.mark.parametrize(
    ("cursor", "sent"),
    [
        (Cursor(MAIN, "next", "members_only"), {"videoId": VIDEO}),
        (Cursor(MAIN, "page", "tok"), {"continuation": "tok"}),
        (Cursor("UgxRoot", "replies", "tok"), {"continuation": "tok"}),
    ],
)
def test_inner_api(cursor: Cursor, sent: dict[str, str]) -> None:
    ask = WebRoute().ask(VIDEO, cursor, SESSION, Options())
    body = json.loads(ask.body)
    client = body.pop("context")["client"]
    assert body == sent
    assert ask.method == "POST"
    assert ask.headers["X-YouTube-Client-Version"] == client["clientVersion"] == SESSION["client_version"]
    assert ask.headers["X-Goog-Visitor-Id"] == client["visitorData"] == SESSION["visitor_data"]
    assert ask.headers["Origin"] == "https://www.youtube.com"
    assert not ask.official


def test_inner_api_without_a_session() -> None:
    ask = WebRoute().ask(VIDEO, Cursor(MAIN, "page", "tok"), {}, Options())
    assert ask.headers["X-YouTube-Client-Version"] == CLIENT_VERSION
    assert "X-Goog-Visitor-Id" not in ask.headers


@pytest.mark.parametrize(("sort", "order"), [("newest", "time"), ("top", "relevance")])
def test_api_threads(sort: str, order: str) -> None:
    ask = ApiRoute().ask(VIDEO, Cursor(MAIN, "threads", "tok=="), {}, Options(sort=sort))
    query = {name: values[0] for name, values in parse_qs(urlsplit(ask.url).query).items()}
    assert query == {
        "part": "id,snippet,replies",
        "videoId": VIDEO,
        "maxResults": "100",
        "order": order,
        "textFormat": "plainText",
        "pageToken": "tok==",
    }


def test_every_request_goes_to_a_host_that_the_provider_names() -> None:
    asks = [WebRoute().ask(VIDEO, Cursor(MAIN, step, "t"), {}, Options()).url for step in ("watch", "next", "page")]
    asks += [ApiRoute().ask(VIDEO, Cursor(MAIN, step, "t"), {}, Options()).url for step in ("video", "threads")]
    assert {urlsplit(url).hostname for url in (*asks, *WebRoute().probes())} <= set(PROVIDER.hosts)
    assert ApiRoute().probes() == ()


@pytest.mark.parametrize("name", sorted(providers()))
def test_providers_keep_the_contract(name: str) -> None:
    provider = providers()[name]
    assert provider.name == name
    assert provider.examples
    for example in provider.examples:
        video_id = provider.recognise(example)
        assert video_id
        assert provider.recognise(provider.link(video_id)) == video_id
        for other in providers().values():
            if other is not provider:
                try:
                    assert other.recognise(example) is None
                except LinkNotRecognised:
                    pytest.fail(f"{other.name} claims {example}")
