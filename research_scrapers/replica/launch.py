"""Start the replica as its own process and talk to it: for tests with foreign clients, the demo
and benchmarks, where client and server must not share an interpreter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import ProxyHandler, Request, build_opener

if TYPE_CHECKING:
    from types import TracebackType

# The control address is on loopback: a proxy set for the outside world must not be used.
_OPENER = build_opener(ProxyHandler({}))


class ReplicaProcess:
    """`with ReplicaProcess("--demo") as replica: …`; `spec` lists videos for World.add."""

    def __init__(self, *options: str, spec: list[dict[str, Any]] | None = None) -> None:
        self._options, self._spec = options, spec
        self.origin = self.proxy = self.ca_file = ""
        self.videos: list[str] = []
        self.bili_videos: list[str] = []

    def __enter__(self) -> ReplicaProcess:
        self._folder = tempfile.TemporaryDirectory(prefix="replica-")
        ca_file = str(Path(self._folder.name, "ca.pem"))
        command = [sys.executable, "-m", "research_scrapers.replica", "--exit-with-parent"]
        if self._spec is not None:  # a file, for a command line holds no more than 128 KB of it
            spec = Path(self._folder.name, "spec.json")
            spec.write_text(json.dumps(self._spec), encoding="utf-8")
            command += ["--spec", f"@{spec}"]
        self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
            [*command, "--ca-file", ca_file, *self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._stop()
            raise RuntimeError("the replica did not start")
        ready = json.loads(line)
        self.origin, self.proxy, self.ca_file = ready["origin"], ready["proxy"], ready["ca_file"]
        self.videos, self.bili_videos = ready["videos"], ready["bili_videos"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._folder.cleanup()

    @property
    def pid(self) -> int:
        return self._process.pid

    def environment(self) -> dict[str, str]:
        """For a client that knows nothing of the replica: everything through the proxy."""
        proxies = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY"), self.proxy)
        trust = dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), self.ca_file)
        kept = {k: v for k, v in os.environ.items() if k.lower() != "no_proxy"}
        return {**kept, **proxies, **trust}

    def _call(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.origin}/_replica/{path}", data)  # noqa: S310 - always our own http address
        with _OPENER.open(request, timeout=60) as answer:
            return json.load(answer)

    def truth(self, video: str, texts: bool = True) -> dict[str, Any]:
        """state, expected, claimed, parents {id: parent or None}, texts {id: text}, unobtainable,
        captions, tracks [{track_id, language, kind, name, segments}], default_track;
        of a Bilibili video what `BiliWorld.truth` says
        """
        found: dict[str, Any] = self._call(f"truth?video={video}&texts={int(texts)}")[video]
        return found

    def tracks(self, video: str) -> dict[str, dict[str, Any]]:
        """The caption tracks by vssId; `segments` are [start ms, duration ms, text]."""
        return {track["track_id"]: track for track in self.truth(video)["tracks"]}

    def counters(self, log: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = self._call(f"counters?log={int(log)}")
        return found

    def faults(self, *rules: dict[str, Any]) -> None:
        """Replace the rules in force."""
        self._call("faults", {"rules": rules})

    def latency(self, seconds: float) -> None:
        self._call("latency", {"seconds": seconds})

    def caching(self, control: str) -> None:
        """The Cache-Control of pages; empty: none, and no ETag."""
        self._call("caching", {"control": control})

    def mutate(self, video: str, op: str, **settings: Any) -> list[str]:
        ids: list[str] = self._call("mutate", {"video": video, "op": op, **settings})["ids"]
        return ids

    def bilibili(self, **change: Any) -> list[str]:
        """rotate_keys, logout, login, require_buvid; or video, op and what `mutate` of its world takes."""
        ids: list[str] = self._call("mutate", {"site": "bilibili", **change})["ids"]
        return ids

    def reset(self) -> None:
        """Counters, faults and quota as at the start; the world stays as it is."""
        self._call("reset", {})
