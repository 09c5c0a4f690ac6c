"""A real run on the replica, seen in every way: lines, display, logs, metrics, spans, events, report."""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import pytest

SECRET = "sess-0123456789-secret"
RESEARCH = [sys.executable, "-c", "from research_scrapers.cli.main import main; main()"]
VIDEOS = [{"comments": 120}, {"comments": 90}, {"comments": 0}, {"state": "private"}]
_HTTP = build_opener(ProxyHandler({}))


def links_of(replica):
    return [f"https://www.youtube.com/watch?v={video}" for video in replica.videos]


def get(port: int, path: str = "/metrics", **headers: str) -> str:
    with _HTTP.open(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read().decode()


def listening_on(port: int) -> set[str]:
    """The addresses on which something listens at a port, as the kernel writes them."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for row in Path(table).read_text(encoding="utf-8").splitlines()[1:]:
            local, state = row.split()[1], row.split()[3]
            address, _, number = local.partition(":")
            if state == "0A" and int(number, 16) == port:
                found.add(address)
    return found


def value(metrics: str, name: str, **labels: str) -> float:
    """The sum of the rows of a metric that have these labels."""
    total = 0.0
    for row in metrics.splitlines():
        if row.startswith(f"research_{name}{{") and all(f'{label}="{text}"' in row for label, text in labels.items()):
            total += float(row.rsplit(" ", 1)[1])
    return total


def test_plain_lines_logs_metrics_and_report(replica, workplace, tmp_path):
    site = replica("--latency-ms", "150", spec=VIDEOS)
    site.faults({"action": "status", "status": 503, "path": "/youtubei/v1/next", "every": 5})
    place = workplace(site.origin)
    place.links(*links_of(site))
    log = tmp_path / "log.jsonl"
    process = subprocess.Popen(
        [*RESEARCH, "scrape", "--links", "links.txt", "--log-json", str(log), "--metrics-port", "0",
         "-s", "RETRY_BACKOFF_CAP_S=0.2", "-s", "BREAKER_COOLDOWN_S=0.2", "-s", f"BILIBILI_SESSDATA={SECRET}"],
        env=place.environment, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        read = ""
        while (found := re.search(r"http://127\.0\.0\.1:(\d+)/metrics", read)) is None:
            line = process.stderr.readline()
            assert line, read
            read += line
        port = int(found[1])
        assert listening_on(port) == {"0100007F"}  # 127.0.0.1 and nothing else
        with pytest.raises(OSError):  # noqa: PT011 - refused, or no such address on this machine
            socket.create_connection(("127.0.0.2", port), timeout=2).close()
        with pytest.raises(HTTPError, match="404"):
            get(port, "/")
        metrics = get(port)
        deadline = time.monotonic() + 60
        while value(metrics, "ended_total") < 2 and time.monotonic() < deadline:
            time.sleep(0.2)
            metrics = get(port)
        out, rest = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, rest
    assert not listening_on(port)

    assert value(metrics, "requests_total", line="yt_comments") >= 1
    assert value(metrics, "answers_total", status="200") >= 1
    assert value(metrics, "workers") == 8
    assert value(metrics, "slots_limit", cap="all") == 64
    assert value(metrics, "slots_limit", cap="domain youtube.com") == 16
    assert value(metrics, "breaker", line="bili_comments", state="closed") == 1
    assert value(metrics, "latency_seconds", line="yt_comments", quantile="0.5") >= 0.1
    for name in ("retries_total", "refusals_total", "cache_hits_total", "queue", "workers_utilisation", "stolen_total"):
        assert f"# TYPE research_{name} " in metrics
    assert all(re.fullmatch(r'\w+\{(\w+="[^"]*",?)+\} [-+.e\d]+', row)
               for row in metrics.splitlines() if not row.startswith("#"))  # fmt: skip

    assert re.search(r"\d of \d+ done, [\d.]+ pages/s, \d+ in flight", read + rest)
    assert "Enabled extensions" not in read + rest
    run = re.search(r"run_\w+", out)[0]

    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert {row["run"] for row in rows} == {run}
    assigned = [row for row in rows if row.get("event") == "assigned"]
    ended = [row for row in rows if row.get("event") == "ended" and row.get("outcome")]
    assert len(assigned) == len(ended) == 8  # two lines, four videos
    assert all({"worker", "line", "job", "sub_job", "position", "queue"} <= row.keys() for row in assigned)
    told = [row for row in rows if "event" not in row and "sub_job" in row]
    assert told, "retries name their sub-job"
    assert all({"worker", "line", "job"} <= row.keys() for row in told)
    assert SECRET not in log.read_text(encoding="utf-8") + read + rest + out

    requests, errors = place.query("SELECT sum(requests), group_concat(errors) FROM samples WHERE run_id = ?", run)[0]
    assert requests == site.counters()["total"]
    assert "server_trouble" in errors
    assert place.query("SELECT sum(ended) FROM samples WHERE run_id = ?", run) == [(8,)]

    text = subprocess.run(
        [*RESEARCH, "report", run], env=place.environment, cwd=tmp_path, text=True, capture_output=True, check=True
    ).stdout
    for part in ("youtube comments", "www.youtube.com/youtubei/v1/next", "server_trouble", "video_private", "p95"):
        assert part in text
    subprocess.run([*RESEARCH, "report", "last", "--html", "run.html"], env=place.environment, cwd=tmp_path, check=True)
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "Rate over time" in page
    assert "<polyline" in page
    refused = subprocess.run(
        [*RESEARCH, "report", "run_x"], env=place.environment, cwd=tmp_path, text=True, capture_output=True, check=False
    )
    assert refused.returncode == 2
    assert "no run is called run_x" in refused.stderr


def test_a_port_that_is_taken_is_told_before_the_run_begins(workplace, tmp_path):
    place = workplace("http://127.0.0.1:9")
    place.links("https://www.youtube.com/watch?v=aaaaaaaaaaa")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [*RESEARCH, "scrape", "--links", "links.txt", "--metrics-port", str(port)],
            env=place.environment, cwd=tmp_path, text=True, capture_output=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert f"--metrics-port {port}: " in done.stderr
    assert not place.db.exists()


def test_the_display_on_a_terminal_is_whole_and_ends_with_the_summary(replica, workplace, tmp_path):
    site = replica("--latency-ms", "150", spec=VIDEOS)
    place = workplace(site.origin)
    place.links(*links_of(site))
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*RESEARCH, "scrape", "--links", "links.txt"],
        env={**place.environment, "TERM": "xterm-256color", "COLUMNS": "140", "LINES": "40"}, cwd=tmp_path,
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    shown = b""
    try:
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        assert process.wait(30) == 0
    finally:
        os.close(master)
        process.kill()
    text = shown.decode()
    frames = re.split(r"(?:\x1b\[1A\x1b\[2K)+", text)
    plain = [re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", frame).replace("\r", "") for frame in frames]
    drawn = [frame for frame in plain if "workers busy" in frame]
    assert len(drawn) >= 3
    for frame in drawn[:-1]:
        lines = frame.strip("\n").splitlines()
        assert lines[0].startswith("run_") or "ERROR" in lines[0]
        assert [name for name in ("yt_transcripts", "bili_transcripts", "yt_comments", "bili_comments")
                if sum(line.startswith(f"{name} ") for line in lines) == 1] != []  # fmt: skip
    assert "INFO:" not in text  # what is no error does not push the display away
    assert "comments failed: video_private" in text
    end = plain[-1]
    assert re.search(r"run_\w+: 4 videos", end)
    assert "workers busy" not in end[end.index(": 4 videos") :]


API = """
import json, sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from research_scrapers import scrape
from research_scrapers.seeing.tracing import Tracing

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
heard = []

def on_event(event):
    heard.append(event)
    if len(heard) == 12:
        raise RuntimeError("a mistake of the listener")

result = scrape(sys.argv[1:], on_event=on_event, lines=["yt_comments", "yt_transcripts"], workers=3,
                settings={"LOG_LEVEL": "ERROR"}, watchers=[Tracing(provider)], max_comments="50")
spans = [{"name": span.name, "id": span.context.span_id, "parent": span.parent.span_id if span.parent else None,
          "attributes": dict(span.attributes), "error": span.status.status_code.name == "ERROR"}
         for span in exporter.get_finished_spans()]
print(json.dumps({"run": result.run, "code": result.exit_code, "left": result.left, "spans": spans,
                  "heard": [[e.what, e.worker, e.line, e.queue, e.position, e.sub_job] for e in heard]}))
"""


def test_a_program_hears_events_and_its_own_mistake_hurts_nobody(replica, workplace, tmp_path):
    site = replica(spec=VIDEOS)
    place = workplace(site.origin)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(API), *links_of(site)], env=place.environment, cwd=tmp_path,
        text=True, capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["code"], told["left"]) == (0, 0)
    heard = told["heard"]
    assert len(heard) == 12  # it raised at the twelfth, and was not told again
    assert "a listener failed and is not told any more; the run goes on" in done.stderr
    assert [what for what, *_ in heard].count("run_started") == 1
    assigned = [row for row in heard if row[0] == "assigned"]
    assert {row[1] for row in assigned} <= {0, 1, 2}
    for line in ("yt_comments", "yt_transcripts"):
        positions = [row[4] for row in assigned if row[2] == line]
        assert positions == list(range(1, len(positions) + 1))
        queues = [row[3] for row in assigned if row[2] == line]
        assert queues == sorted(queues, reverse=True)
    assert place.query("SELECT count(*) FROM sub_jobs WHERE status IN ('success', 'failed')") == [(8,)]

    work = {span["id"]: span for span in told["spans"] if "research.sub_job" in span["attributes"]}
    requests = [span for span in told["spans"] if "http.request.method" in span["attributes"]]
    assert len(work) == 8
    assert {span["attributes"]["research.run"] for span in work.values()} == {told["run"]}
    assert sum(span["error"] for span in work.values()) == 2  # the private video, on both lines
    within = [span for span in requests if span["parent"] in work]
    assert len(within) >= 8
    assert all("robots" in span["name"] for span in requests if span["parent"] is None)
    assert all(span["attributes"]["http.response.status_code"] == 200 for span in within)
    assert not any("?" in span["name"] for span in requests)


def test_without_the_extra_spans_are_refused_in_one_sentence(workplace, tmp_path):
    place = workplace("http://127.0.0.1:9")
    place.links("https://www.youtube.com/watch?v=aaaaaaaaaaa")
    (tmp_path / "opentelemetry.py").write_text("raise ImportError", encoding="utf-8")
    done = subprocess.run(
        [*RESEARCH, "scrape", "--links", "links.txt", "--otel"], cwd=tmp_path, text=True, capture_output=True,
        env={**place.environment, "PYTHONPATH": f"{tmp_path}:{place.environment['PYTHONPATH']}"}, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "research-scrapers[otel]" in done.stderr
