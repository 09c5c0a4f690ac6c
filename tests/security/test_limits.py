"""What a hostile server can send: endless bodies, bombs, bottomless JSON. Each is refused by name, and memory stays."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import brotli
import pytest
from backports import zstd

from research_scrapers.errors import LayoutChanged, PartialResponse, ResearchError, WrongContent
from research_scrapers.links import read_line
from research_scrapers.models import Link
from research_scrapers.providers.bilibili.danmaku_pb import read_segment
from research_scrapers.providers.bilibili.danmaku_xml import inflated, read_pool
from research_scrapers.providers.tree import decode, decode_object, int_at
from research_scrapers.providers.youtube.timedtext import read_timedtext

MEGABYTE = b"\0" * 2**20
UNPACKED_MB = 150
LARGEST_RSS_MB = 700
"""The crawl itself takes 150; a body and its unpacked form may be there at once."""


@cache
def _bomb(kind: str) -> bytes:
    match kind:
        case "gzip" | "deflate":
            packer = zlib.compressobj(1, wbits=31 if kind == "gzip" else 15)
            return b"".join([*(packer.compress(MEGABYTE) for _ in range(UNPACKED_MB)), packer.flush()])
        case "br":
            smith = brotli.Compressor(quality=1)
            return b"".join([*(smith.process(MEGABYTE) for _ in range(UNPACKED_MB)), smith.finish()])
        case _:
            return zstd.compress(MEGABYTE * UNPACKED_MB, level=1)


BOMBS = {"bombGzipxxA": "gzip", "bombDeflatA": "deflate", "bombBrotliA": "br", "bombZstdxxA": "zstd"}
PLAIN: dict[str, Callable[[], bytes]] = {
    "deepJsonxxA": lambda: b"[" * 100_000 + b"]" * 100_000,
    "manyValuesA": lambda: b"[" + b"[]," * 8_000_000 + b"[]]",
    "hugeNumberA": lambda: b'[{"response":' + b"9" * 1_000_000 + b"}]",
}
ENDLESS = "endlessxxxA"
ANNOUNCED = "announcedxA"
REDIRECTED = "redirectedA"
REFRESHED = "refreshedxA"


class _Enemy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        video = parse_qs(urlsplit(self.path).query).get("v", [""])[0]
        if video in BOMBS:
            self._answer(_bomb(BOMBS[video]), ("Content-Encoding", BOMBS[video]))
        elif video in PLAIN:
            self._answer(PLAIN[video]())
        elif video == REDIRECTED:
            self._answer(b"", ("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere"), status=302)
        elif video == REFRESHED:
            self._answer(b'<html><meta http-equiv="refresh" content="0;url=https://www.youtube.com/elsewhere"></html>')
        elif video in (ENDLESS, ANNOUNCED):
            self._gigabyte(video == ANNOUNCED)
        else:
            self._answer(b"", status=404)

    def _answer(self, body: bytes, *headers: tuple[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in (("Content-Type", "text/html"), ("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True

    def _gigabyte(self, announced: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Connection", "close")
        if announced:
            self.send_header("Content-Length", str(2**30))
        self.end_headers()
        self.close_connection = True
        try:
            for _ in range(1024):
                self.wfile.write(MEGABYTE)
        except OSError:
            return

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def enemy() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Enemy)
    server.daemon_threads = True
    _Enemy.asked.clear()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_bombs_and_endless_bodies_are_refused_and_memory_stays(enemy, workplace):
    work = workplace(f"http://127.0.0.1:{enemy.server_port}")
    videos = [*BOMBS, *PLAIN, ENDLESS, ANNOUNCED, REDIRECTED, REFRESHED]
    work.links(*(f"https://youtu.be/{video}" for video in videos))
    flags = ("RETRY_TIMES=0", "ROBOTSTXT_OBEY=False", "CONCURRENT_REQUESTS=1", "BREAKER_COOLDOWN_S=0.01",
             "BREAKER_PATIENCE=100", "BREAKER_THRESHOLD=100")  # fmt: skip
    command = work.command(*(part for flag in flags for part in ("-s", flag)), feed=False)
    with (work.folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=work.environment, cwd=work.folder, stdout=log, stderr=log)
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    told = (work.folder / "log").read_text("utf-8", "replace")
    ended = dict(work.query("SELECT video_id, reason FROM sub_jobs WHERE status = 'failed'"))
    assert ended.keys() == set(videos), told[-3000:]
    assert {ended[video] for video in BOMBS} == {"wrong_content"}
    assert {ended[ENDLESS], ended[ANNOUNCED]} == {"partial_response"}
    assert ended["manyValuesA"] == ended["deepJsonxxA"] == "layout_changed"
    assert "Traceback" not in told
    assert usage.ru_maxrss < LARGEST_RSS_MB * 1024
    assert not any("elsewhere" in path for path in _Enemy.asked), "a page sent us elsewhere, and we went"


# -- the parsers by themselves ---------------------------------------------------------------------------------------

RSS = """
import resource, sys
from {module} import {name} as read
from research_scrapers.errors import ResearchError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
body = {body}
try:
    read(body)
except ResearchError as error:
    print(type(error).__name__, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
HEAVY = {
    "empty danmaku": ("research_scrapers.providers.bilibili.danmaku_pb", "read_segment", r"b'\x0a\x00' * 8_000_000"),
    "empty tags": ("research_scrapers.providers.bilibili.danmaku_xml", "read_pool", "b'<i>' + b'<d/>' * 4_000_000"),
    "empty lists": ("research_scrapers.providers.tree", "decode", "b'[' + b'[],' * 10_000_000 + b'[]]'"),
    "packed zeros": (
        "research_scrapers.providers.bilibili.danmaku_xml",
        "read_pool",
        "__import__('zlib').compress(b'<i>' + b' ' * 100_000_000, 1)[2:]",
    ),
}


@pytest.mark.parametrize(("module", "name", "body"), HEAVY.values(), ids=HEAVY)
def test_small_bodies_do_not_become_large(module, name, body):
    code = RSS.format(module=module, name=name, body=body)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    leaf, grown = done.stdout.split()
    assert (leaf, int(grown) < 300) == ("LayoutChanged", True), done.stdout


LAUGHS = "<!DOCTYPE i [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {name} '{'&' + before + ';' * 1}{('&' + before + ';') * 9}'>"
    for before, name in zip("abcdefgh", "bcdefghj", strict=True)
)
LAUGHS += "]>"


@pytest.mark.parametrize("padding", ["", " " * 3000, f"<!-- {'x' * 5000} -->"], ids=["plain", "spaces", "comment"])
def test_entity_bombs(padding):
    body = f'<?xml version="1.0" encoding="UTF-8"?>{padding}{LAUGHS}<i><d p="">&j;</d></i>'
    for packed in (body.encode(), zlib.compress(body.encode()), gzip.compress(body.encode())):
        with pytest.raises(WrongContent, match="document type"):
            read_pool(packed)
    for root in ("timedtext", "transcript"):
        with pytest.raises(WrongContent, match="document type"):
            read_timedtext(f"{padding}{LAUGHS}<{root}><p t='0'>&j;</p></{root}>".encode(), "srv3")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp037", "utf-7"])
def test_other_encodings_hide_nothing(encoding):
    body = f'<?xml version="1.0" encoding="{encoding}"?>{LAUGHS}<i><d p="">&j;</d></i>'
    with pytest.raises(ResearchError):
        read_pool(body.encode(encoding))


def test_numbers_without_end():
    assert int_at(decode_object(b'{"a": 9223372036854775807}'), "a") == 2**63 - 1
    for number in (b"9223372036854775808", b"9" * 40, b'"9999999999999999999"', b"1e400", b"-" + b"9" * 30):
        try:
            assert int_at(decode_object(b'{"a": %s}' % number), "a") is None
        except PartialResponse:
            continue
    with pytest.raises(ResearchError):
        decode(b"9" * 100_000)


@pytest.mark.parametrize("levels", [1_000, 100_000, 1_000_000])
def test_depth(levels):
    with pytest.raises(LayoutChanged):
        decode(b'{"a":' * levels + b"1" + b"}" * levels)
    with pytest.raises(ResearchError):
        read_pool(b"<i>" + b"<d>" * levels)
    with pytest.raises(ResearchError):
        read_segment(b"\x0a\x02" * levels + b"\x0a")


def test_a_pool_that_breaks_off_is_not_a_bomb():
    with pytest.raises(PartialResponse):
        inflated(zlib.compress(b"<i>" + os.urandom(1000))[:-20])


HOSTILE = [
    "https://www.youtube.com/watch?" + "v=" * 20_000, "<" * 50_000, "https://youtu.be/" + "/" * 50_000,
    "a." * 30_000 + "com", "https://" + "@" * 50_000, "&amp;" * 20_000, "https://b23.tv/" + "%25" * 20_000,
    "https://www.youtube.com/redirect?q=" + "https%253A//www.youtube.com/redirect?q=" * 500, "x" * 10**6,
    "BV1" + "1" * 100_000, "https://www.bilibili.com/" + "video/" * 20_000, " #" * 40_000, "\t" * 100_000 + "x",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:24])
def test_no_line_takes_long(text):
    began = time.process_time()
    found = read_line(1, text)
    assert time.process_time() - began < 1
    assert not isinstance(found, Link) or len(found.video_id) < 30


@pytest.mark.parametrize(
    "piece",
    [
        b"00:00:00.000 --> ",
        b"<c",
        b"<v x",
        b"<00:00:01.000>",
        b"&amp;",
        b"\n\n",
        b"<i>",
        b"--> ",
        b"<font color=",
        b"\r",
    ],
)
def test_no_caption_takes_long(piece):
    for head, fmt in ((b"WEBVTT\n\n00:00.000 --> 00:01.000\n", "vtt"), (b"<transcript><text start='0'>", "srv1")):
        body = head + piece * (300_000 // len(piece))
        began = time.process_time()
        with suppress(ResearchError):
            read_timedtext(body + (b"" if fmt == "vtt" else b"</text></transcript>"), fmt)
        assert time.process_time() - began < 2
