"""Every entry point as one function of bytes. The first byte chooses what is asked, the second the status.

What can be asked is read from the fixtures' ``meta.json``, and their bodies (and recorded ones, where there are any)
are where mutation begins.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from scrapy.settings import Settings

from fuzzing.oracle import KINDS, Broken, named, page_holds
from research_scrapers import formats
from research_scrapers.config import ARGUMENTS, Config
from research_scrapers.errors import ResearchError
from research_scrapers.links import Links, read_line
from research_scrapers.models import MAIN, Answer, Ask, Cursor, Kind, Link, Options, Transcript
from research_scrapers.providers import Route, providers
from research_scrapers.providers.bilibili.danmaku_pb import read_segment, read_view
from research_scrapers.providers.bilibili.danmaku_xml import read_pool
from research_scrapers.providers.bilibili.visit import BilibiliVisit
from research_scrapers.providers.tracks import wanted_of
from research_scrapers.providers.youtube.states import player_state
from research_scrapers.providers.youtube.timedtext import read_timedtext
from research_scrapers.providers.youtube.transcripts import TranscriptRoute
from research_scrapers.providers.youtube.tree import decode_object

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "fixtures"
RECORDINGS = Path(os.environ.get("RESEARCH_RECORDINGS") or ROOT.parent / "shared" / "recordings")
FOUND = ROOT / "fuzzing" / "found"
"""Where inputs are kept that broke something. ``python -m fuzzing --replay`` runs them again."""
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
STATUSES = (200, 200, 200, 400, 403, 404, 412, 429, 500, 302, 206, 204)
HEADERS = {"date": "Mon, 16 Nov 2026 12:00:00 GMT"}
LONGEST_RECORDED = 400_000
_KIND_OF = {"track_list": "transcript", "track": "transcript", "subtitles": "transcript", "danmaku": "danmaku",
            "metadata": "metadata"}  # fmt: skip
_URLS = {"youtube": "https://www.youtube.com/youtubei/v1/next", "bilibili": "https://api.bilibili.com/x/v2/reply"}
_TIMEDTEXT = ("json3", "srv1", "srv3", "vtt", None)


@dataclass(frozen=True)
class Target:
    """One entry point."""

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    dictionary: tuple[bytes, ...] = field(default=())


def _input(case: Path) -> bytes:
    path = next(case.glob("input.*"))
    return bytes.fromhex(path.read_text("utf-8")) if path.suffix == ".hex" else path.read_bytes()


@cache
def _cases(provider: str, parser: str) -> tuple[tuple[dict[str, Any], bytes], ...]:
    folders = sorted(path.parent for path in (FIXTURES / provider / parser).glob("*/meta.json"))
    return tuple((json.loads((case / "meta.json").read_text("utf-8")), _input(case)) for case in folders)


def _route(provider: str, parser: str, meta: dict[str, Any], options: Options) -> Route:
    if provider == "youtube" and parser.startswith("track"):
        return TranscriptRoute(wanted_of(**meta.get("wanted", {})))
    site = providers()[provider]
    return site.route(_kind(parser), options, "key" if parser.startswith("api_") else None)


def _kind(parser: str) -> Kind:
    return KINDS[_KIND_OF.get(parser, "comments")]


def run_route(provider: str, parser: str, data: bytes) -> None:
    """What the spider does with an answer: judge it, read it, store the page, ask for what follows."""
    cases = _cases(provider, parser)
    meta = cases[data[0] % len(cases)][0] if data else cases[0][0]
    status = STATUSES[data[1] % len(STATUSES)] if len(data) > 1 else 200
    headers = {**HEADERS, **meta.get("headers", {})}
    answer = Answer(meta.get("url", _URLS[provider]), status, data[2:], headers)
    refused = named(partial(providers()[provider].judge, answer))
    if refused is not None and not isinstance(refused, ResearchError):
        raise Broken(f"judge returned {refused!r}")
    if "step" not in meta:
        return
    options = Options(**meta.get("options", {}))
    session = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in meta.get("session", {}).items()
    }
    route = _route(provider, parser, meta, options)
    cursor = Cursor(meta.get("chain", MAIN), meta["step"], meta.get("token", ""), meta.get("claimed"))
    page = named(lambda: route.read(meta["video_id"], cursor, answer, NOW, options, session))
    if page is not None:
        page_holds(provider, _kind(parser), route, meta["video_id"], page, options, session)


def _seeds_of(provider: str, parser: str) -> Iterable[bytes]:
    cases = _cases(provider, parser)
    for place, (meta, body) in enumerate(cases):
        status = STATUSES.index(meta["status"]) if meta.get("status") in STATUSES else 0
        yield bytes((place, status)) + body
    for body in _recorded(provider, parser):
        yield bytes((len(body) % min(len(cases), 256), 0)) + body


_RECORDED = {
    ("youtube", "watch"): ("watch_html", "watch_json_pbj", "consent_html", "block_html"),
    ("youtube", "next"): ("next_initial", "next_comments_off", "next_incomplete"),
    ("youtube", "page"): ("comments_first_page", "comments_next_page", "comments_last_page"),
    ("youtube", "replies"): ("comments_replies_page",),
    ("youtube", "player"): ("player_*",),
    ("youtube", "refusal"): ("innertube_error", "dataapi_error"),
    ("youtube", "api_video"): ("dataapi_videos",),
    ("youtube", "api_threads"): ("dataapi_commentThreads",),
    ("youtube", "api_replies"): ("dataapi_comments",),
    ("youtube", "track_list"): ("player_ok_*",),
    ("youtube", "track"): ("timedtext_*",),
    ("youtube", "panel"): ("get_transcript",),
    ("bilibili", "metadata"): ("*view*", "*season*"),
    ("bilibili", "comments"): ("*reply*", "*comment*"),
    ("bilibili", "replies"): ("*reply_reply*", "*replies*"),
    ("bilibili", "danmaku"): ("*danmaku*", "*dm*", "*seg*"),
    ("bilibili", "subtitles"): ("*player*", "*subtitle*"),
    ("bilibili", "visit"): ("*nav*", "*spi*", "*ticket*"),
}


def _recorded(provider: str, parser: str) -> Iterable[bytes]:
    folder = RECORDINGS / provider
    for pattern in _RECORDED.get((provider, parser), ()):
        found = [path for path in folder.glob(f"**/{pattern}") if path.is_file()]
        found += [path for path in folder.glob(f"{pattern}/*") if path.is_file()]
        for path in sorted(found, key=lambda one: one.stat().st_size)[:12]:
            if path.stat().st_size <= LONGEST_RECORDED and path.suffix not in (".md", ".py"):
                yield path.read_bytes()


def run_player(data: bytes) -> None:
    """The state of a video by its player answer."""
    named(lambda: player_state(decode_object(data[2:]), "fixtureVidA"))


def run_panel(data: bytes) -> None:
    """A track from the transcript panel."""
    token = '{"url":"https://www.youtube.com/api/timedtext?v=fixtureVidA&lang=en","language":"en","kind":"manual"}'
    cursor, route = Cursor(".en", "panel", token), TranscriptRoute()
    answer = Answer(_URLS["youtube"], 200, data[2:])
    page = named(lambda: route.read("fixtureVidA", cursor, answer, NOW, Options(), {}))
    if page is not None:
        page_holds("youtube", Kind.TRANSCRIPT, route, "fixtureVidA", page, Options(), {})


def run_visit(data: bytes) -> None:
    """What Bilibili teaches a visitor, and what goes out then."""
    cases = _cases("bilibili", "visit")
    meta = cases[data[0] % len(cases)][0] if data else cases[0][0]
    visit = BilibiliVisit(meta.get("login"))
    facts = named(lambda: visit.read(Ask(meta["url"]), Answer(meta["url"], 200, data[2:])))
    if facts is not None:
        url, headers = visit.dress("https://api.bilibili.com/x?a=1", facts, 1.0, signed=True)
        if any(sign in text for text in (url, *headers.values()) for sign in "\r\n\0"):
            raise Broken("what a visitor brings has more than one line")


def run_timedtext(data: bytes) -> None:
    """Captions in a named format, or in the one that the body shows."""
    fmt = _TIMEDTEXT[data[0] % len(_TIMEDTEXT)] if data else None
    lines = named(lambda: read_timedtext(data[2:], fmt))
    if lines is not None:
        transcript = Transcript("youtube", "v", 1, "en", "manual", "", lines, "h", "2026-11-16T00:00:00Z")
        for write in formats.WRITERS.values():
            write(transcript)


def run_danmaku_pb(data: bytes) -> None:
    """The two protobuf messages."""
    named(lambda: read_segment(data[2:]))
    named(lambda: read_view(data[2:]))


def run_danmaku_xml(data: bytes) -> None:
    """The XML pool, packed or plain."""
    named(lambda: read_pool(data[2:]))


def run_links(data: bytes) -> None:
    """A links file: every line is a link or says why not, and an id is one that the site could have."""
    text = data.decode("utf-8", "surrogateescape")
    for line in (text, *text.split("\n")):
        found = named(partial(read_line, 1, line))
        if isinstance(found, Link):
            site = providers()[found.provider]
            if site.recognise(site.link(found.video_id)) != found.video_id:
                raise Broken(f"{found.video_id!r} is not what its own link names")
            if any(sign in found.video_id for sign in "/\\\0. "):
                raise Broken(f"{found.video_id!r} is no plain id")
    named(lambda: list(Links("stdin", stdin=io.BytesIO(data))))


def run_config(data: bytes) -> None:
    """Settings and arguments as a person may write them: ``NAME=value`` on each line."""
    settings = Settings()
    settings.setmodule("research_scrapers.settings", priority="project")
    arguments: dict[str, str] = {}
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        name, _, value = line.partition("=")
        if name.isupper() and name in settings and name not in ("JOBDIR", "RESEARCH_DB"):
            settings.set(name, value, priority="cmdline")
        elif name:
            arguments[name] = value
    config = named(lambda: Config.from_settings(settings), told="replace")
    config = config or Config.from_settings(_plain_settings())
    for kinds in ((Kind.COMMENTS,), (Kind.TRANSCRIPT,), (Kind.COMMENTS, Kind.DANMAKU)):
        options = named(partial(config.options, arguments, kinds), told="replace")
        if options is not None:
            json.dumps(config.snapshot(options, "web"), allow_nan=False)
            named(
                partial(wanted_of, options.languages, options.kinds, options.translate, options.tracks), told="replace"
            )
            named(partial(providers()["bilibili"].route, Kind.DANMAKU, options, None), told="replace")


@cache
def _plain_settings() -> Settings:
    settings = Settings()
    settings.setmodule("research_scrapers.settings", priority="project")
    return settings


def run_formats(data: bytes) -> None:
    """Transcript files that somebody hands to the readers."""
    text = data.decode("utf-8", "replace")
    for read in (formats.from_srt, formats.from_vtt, formats.from_json):
        named(partial(read, text))


def run_cursor(data: bytes) -> None:
    """A token that no version of ours wrote: asking fails by name, or asks at the site."""
    text = data[2:].decode("utf-8", "replace")
    cases = [*_cases("bilibili", "danmaku"), *_cases("bilibili", "subtitles"), *_cases("bilibili", "comments"),
             *_cases("youtube", "track")]  # fmt: skip
    place = data[0] % len(cases) if data else 0
    meta = cases[place][0]
    provider = "youtube" if place >= len(cases) - len(_cases("youtube", "track")) else "bilibili"
    parser = (
        "track" if provider == "youtube" else ("danmaku", "subtitles", "comments")[(data[1] if data[1:] else 0) % 3]
    )
    session = {name: v if isinstance(v, str) else json.dumps(v) for name, v in meta.get("session", {}).items()}
    route = _route(provider, parser, meta, Options())
    cursor = Cursor(meta.get("chain", MAIN), meta["step"], text)
    named(lambda: route.ask(meta["video_id"], cursor, session, Options()))
    answer = Answer(_URLS[provider], 200, b"{}")
    named(lambda: route.read(meta["video_id"], cursor, answer, NOW, Options(), session))


def _texts(*texts: str) -> Callable[[], list[bytes]]:
    return lambda: [text.encode() for text in texts]


def _link_seeds() -> list[bytes]:
    lines = [example for site in providers().values() for example in site.examples]
    return [*(line.encode() for line in lines), "\n".join(lines).encode("utf-16")]


_SETTINGS = _texts(
    "CONCURRENT_REQUESTS=64\nDOMAIN_RATE=5.0\nDOMAIN_RATES=bilibili.com=2\nORIGIN=http://127.0.0.1:8000\nsort=top",
    'DOMAIN_CONCURRENCY={"bilibili.com": 4}\nRETRY_BACKOFF_BASE=1.5\nmax_comments=10\nhistory=2024-01-01..2024-01-31',
    "BILIBILI_SESSDATA=SESSDATA=a%2Cb;\nORIGIN=http://[::1]:1\nlanguages=en,zh-Hans,*\nkinds=asr\ntracks=all\nparts=first",
    "\n".join(f"{name}=1" for kind in ARGUMENTS.values() for name in kind),
)
_SRT = "1\n00:00:00,000 --> 00:00:01,000\nhello\n\n2\n00:00:01,000 --> 00:00:02,500\nworld\n\n"
_XML = b'<?xml version="1.0" encoding="UTF-8"?><i><chatid>279786</chatid><maxlimit>3000</maxlimit><state>0</state>'
_XML += b'<d p="1.5,1,25,16777215,1700000000,0,abcdef12,123456789,10">hi &amp; ho</d></i>'


def _with_head(*bodies: bytes) -> Callable[[], list[bytes]]:
    return lambda: [b"\0\0" + body for body in bodies]


def _of_fixtures(parser: str, *suffixes: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        found = [path for path in sorted(FIXTURES.glob(f"*/{parser}/*/input.*")) if path.suffix in suffixes]
        bodies = [bytes.fromhex(p.read_text("utf-8")) if p.suffix == ".hex" else p.read_bytes() for p in found]
        return [b"\4\0" + body for body in bodies]

    return seeds


def _targets() -> Iterable[Target]:
    for provider in ("youtube", "bilibili"):
        for folder in sorted(path.name for path in (FIXTURES / provider).iterdir()):
            seeds = partial(_seeds_of, provider, folder)
            special = {"player": run_player, "panel": run_panel, "visit": run_visit}.get(folder)
            yield Target(f"{provider}.{folder}", special or partial(run_route, provider, folder), seeds)
    yield Target("youtube.timedtext", run_timedtext, _of_fixtures("track", ".json", ".xml", ".vtt", ".txt"))
    yield Target("bilibili.danmaku_pb", run_danmaku_pb, _of_fixtures("danmaku", ".hex"))
    yield Target("bilibili.danmaku_xml", run_danmaku_xml, _with_head(_XML))
    yield Target("links", run_links, _link_seeds)
    yield Target("config", run_config, _SETTINGS)
    yield Target("formats", run_formats, _texts(_SRT, "WEBVTT\n\n00:00.000 --> 00:01.000\n<v A>hi\n"))
    yield Target(
        "cursor", run_cursor, _with_head(b"1|2", b"3|40|52|x", b'{"url":"https://www.youtube.com/api/timedtext"}')
    )


TARGETS = {target.name: target for target in _targets()}


def keep(name: str, data: bytes) -> Path:
    """Keep an input that broke a target."""
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{name}-{hashlib.blake2b(data, digest_size=6).hexdigest()}"
    path.write_bytes(data)
    return path.relative_to(ROOT)
