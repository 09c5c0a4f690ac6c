"""`python -m research_scrapers.replica`: the replica as its own process."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.stdio import StandardIO

from .bilibili import Bilibili, BiliWorld, demo_videos
from .model import Traits
from .server import Replica
from .world import World, demo_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from twisted.python.failure import Failure


def _span(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    return int(low), int(high or low)


def _tuples(value: Any) -> Any:
    """JSON has no tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _spec(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(text[1:]).read_text("utf-8") if text.startswith("@") else text)
    return found


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="research_scrapers.replica", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--videos", type=int, default=20)
    parser.add_argument("--comments", type=_span, default=(0, 500), metavar="MIN-MAX")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--ca-file", help="where to write the certificate for the https proxy")
    parser.add_argument("--demo", action="store_true", help="a dozen videos of all kinds")
    parser.add_argument(
        "--spec", type=_spec, help='JSON list of videos, or @FILE: comments, state and trait names; "site": "bilibili"'
    )
    parser.add_argument("--bili-videos", type=int, default=0, help="Bilibili videos")
    parser.add_argument("--bili-comments", type=_span, default=(0, 200), metavar="MIN-MAX")
    parser.add_argument("--bili-danmaku", type=_span, default=(0, 300), metavar="MIN-MAX", help="of each part")
    parser.add_argument("--bili-buvid", action="store_true", help="signed requests without buvid3 get -352")
    parser.add_argument("--sessdata", default="replica-sessdata", help="the cookie that is logged in at Bilibili")
    parser.add_argument("--robots", choices=("real", "open"), default="real")
    parser.add_argument("--api-key", default="replica-key")
    parser.add_argument("--quota", type=int, default=10_000)
    parser.add_argument("--gzip", action="store_true", help="compress for clients that accept it")
    parser.add_argument("--cache-pages", type=int, default=0, help="comment pages kept ready")
    parser.add_argument("--caching", default="", metavar="CONTROL", help="Cache-Control of pages, which get an ETag")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when stdin closes")
    return parser.parse_args(argv)


def _specified(spec: list[dict[str, Any]], site: str) -> Iterator[dict[str, Any]]:
    for entry in spec:
        settings = {name: _tuples(value) for name, value in entry.items()}
        if settings.pop("site", "youtube") == site:
            yield settings


def build_bilibili(options: argparse.Namespace) -> Bilibili:
    world = BiliWorld(options.seed, options.bili_videos, options.bili_comments, options.bili_danmaku)
    if options.spec is not None:
        for settings in _specified(options.spec, "bilibili"):
            world.add(**settings)
    elif options.demo:
        demo_videos(world)
    return Bilibili(world, robots=options.robots, sessdata=options.sessdata, require_buvid=options.bili_buvid)


def build_world(options: argparse.Namespace) -> World:
    if options.spec is not None:
        world = World(seed=options.seed, videos=0)
        for settings in _specified(options.spec, "youtube"):
            world.add(**settings)
        return world
    if options.demo:
        return demo_world(options.seed)
    return World(options.seed, options.videos, options.comments, Traits())


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    bilibili = build_bilibili(options)
    replica = Replica(
        build_world(options),
        latency=options.latency_ms / 1000,
        robots=options.robots,
        api_key=options.api_key,
        quota=options.quota,
        compress=options.gzip,
        cache_pages=options.cache_pages,
        caching=options.caching,
        sites=[bilibili],
    )
    if options.ca_file:
        replica.write_ca(options.ca_file)
    from twisted.internet import reactor as twisted_reactor

    reactor: Any = twisted_reactor

    class Parent(Protocol):
        def connectionLost(self, reason: Failure = connectionDone) -> None:
            if reactor.running:
                reactor.stop()

    async def begin() -> None:
        origin = await replica.start(options.port)
        ready = {
            "origin": origin,
            "proxy": origin,
            "ca_file": options.ca_file,
            "videos": list(replica.world.videos),
            "bili_videos": list(bilibili.world.videos),
        }
        print(json.dumps(ready), flush=True)
        if options.exit_with_parent:
            StandardIO(Parent())  # type: ignore[no-untyped-call]

    failures: list[Failure] = []

    def failed(failure: Failure) -> None:
        failures.append(failure)
        reactor.stop()

    def launch() -> None:
        Deferred.fromCoroutine(begin()).addErrback(failed)

    reactor.callWhenRunning(launch)
    reactor.run()  # SIGTERM and SIGINT stop it
    for failure in failures:
        print(failure.getTraceback(), file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
