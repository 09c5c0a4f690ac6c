"""``research status``, ``retry`` and ``cancel``: looking after a run from another terminal, or later."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from research_scrapers.cli.common import DB, existing, find_run
from research_scrapers.cli.scrape import CONFIG, SETS, go, resumed, settings_with
from research_scrapers.cli.seeing import seeing_options
from research_scrapers.control.lines import SPIDERS
from research_scrapers.crawling.session import is_alive
from research_scrapers.models import Kind, counted
from research_scrapers.seeing.wanted import Wanted
from research_scrapers.store.runs import Runs
from research_scrapers.store.standing import ENDS, Standing, last_failures, standing

_ERRORS = 5
_SILENT_S = 30.0
"""A process that is alive tells of itself every two seconds."""
NOT_STOPPED = 1


@click.command("status")
@click.argument("run", default="last")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@DB
def status_command(run: str, as_json: bool, db: Path) -> None:
    """Say how RUN (default: the newest) stands, also while it goes on: each line, rates, pauses, last errors."""
    with existing(db) as store:
        now = standing(store.conn, find_run(store, run).id)
        told = status_of(now, last_failures(store.conn, now.run, _ERRORS), time.time())
    click.echo(json.dumps(told, ensure_ascii=False, indent=2) if as_json else "\n".join(_in_words(told)))


@click.command("retry")
@click.argument("run", default="last")
@click.option("--failed", is_flag=True, help="Also what failed for a reason that is not expected to pass.")
@click.option("--partial", is_flag=True, help="Also what is partial, from its beginning.")
@click.option("--db", type=click.Path(path_type=Path), help="The database.")
@CONFIG
@SETS
@seeing_options
def retry_command(
    run: str, failed: bool, partial: bool, db: Path | None, config: Path | None, sets: tuple[str, ...], wanted: Wanted
) -> None:
    """Try again what RUN (default: the newest) could not get: without options, what failed for a passing reason."""
    settings = settings_with(config, sets, {"RESEARCH_DB": str(db) if db else None})
    order = resumed(settings, run)
    assert order.resume is not None
    with existing(Path(settings["RESEARCH_DB"])) as store:
        asked = Runs(store).ask_again(order.resume, failed=failed, partial=partial)
    if failed or partial:
        click.echo(f"{order.resume}: {counted(asked, 'sub-job')} to be tried again", err=True)
    go(settings, order, wanted)


@click.command("cancel")
@click.argument("run", default="last")
@click.option("--timeout", type=click.FloatRange(0), default=60.0, show_default=True, help="Seconds to wait for it.")
@DB
def cancel_command(run: str, timeout: float, db: Path) -> None:
    """Ask RUN (default: the newest) to stop: pages in flight are stored, the rest can be resumed."""
    with existing(db) as store:
        runs = Runs(store)
        now = standing(store.conn, find_run(store, run).id)
        if not now.open:
            click.echo(f"{now.run} is not running: {_ended(now)}")
            return
        if not alive(now, time.time()):
            click.echo(f"nobody works on {now.run}: its process is gone. Nothing is lost: {_resume(now)}")
            return
        runs.ask_cancel(now.run)
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            now = standing(store.conn, now.run)
            if not now.open or not alive(now, time.time()):
                click.echo(f"{now.run} has stopped, {counted(now.left, 'sub-job')} left: {_resume(now)}")
                return
            time.sleep(0.2)
    click.echo(
        f"research: {now.run} was asked to stop, but has not within {timeout:g} s; it still may. "
        f"`research status {now.run}` tells",
        err=True,
    )
    sys.exit(NOT_STOPPED)


def alive(now: Standing, moment: float) -> bool:
    """Whether a process works on the run. One on another machine is believed as long as it tells of itself."""
    fresh = moment - float(now.live.get("at", 0)) < _SILENT_S
    teller = now.live.get("owner")
    return any(is_alive(owner) and (_here(owner) or owner != teller or fresh) for owner in now.owners)


def _here(owner: str) -> bool:
    return owner.rsplit("/", 3)[0] == platform.node()


def status_of(now: Standing, failures: list[dict[str, Any]], moment: float) -> dict[str, Any]:
    """The whole status, as ``--json`` prints it."""
    living = now.open and alive(now, moment)
    lines = {}
    for name, spider in SPIDERS.items():
        kinds = [kind for kind in spider.kinds if (spider.provider_name, kind) in now.counts]
        if now.spider in (name, "scrape") and (mine := [kind for kind in kinds if kind is not Kind.METADATA]):
            word = now.live.get("lines", {}).get(name, {}) if living else {}
            lines[name] = _line(now, spider.provider_name, mine, word)
    metadata = {
        provider: _counts(Counter(counts))
        for (provider, kind), counts in now.counts.items()
        if kind == Kind.METADATA and any(spider.provider_name == provider for spider in SPIDERS.values())
    }
    return {
        "run": now.run, "spider": now.spider, "status": now.status, "reason": now.reason, "alive": living,
        "process": now.live.get("owner") if living else None, "told_s_ago": _ago(now, moment) if living else None,
        "created_at": now.created_at, "finished_at": now.finished_at, "cancel_asked": now.cancel_asked,
        "in_flight": now.live.get("in_flight") if living else None, "left": now.left,
        "parked_until": _clock(now.parked_until), "lines": lines, "metadata": metadata, "last_errors": failures,
        "what_to_do": None if living or not (now.open or now.left) else _resume(now),
    }  # fmt: skip


def _line(now: Standing, provider: str, kinds: Sequence[Kind], word: dict[str, Any]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for kind in kinds:
        counts.update(now.counts[provider, kind])
    told = _counts(counts)
    rate = word.get("per_minute") or 0
    left = told["in_progress"] + told["waiting"]
    pauses = [{**pause, "until": _clock(pause["until"])} for pause in word.get("pauses", [])]
    return {
        **told, "per_minute": word.get("per_minute"), "eta_s": round(60 * left / rate) if rate and left else None,
        "in_flight": word.get("in_flight"), "workers": word.get("workers"), "closed": word.get("closed"),
        "pauses": pauses,
    }  # fmt: skip


def _counts(counts: Counter[str]) -> dict[str, Any]:
    outcomes = {name: counts[name] for name in ENDS if counts[name]}
    return {
        "done": sum(outcomes.values()), "total": counts.total(), "outcomes": outcomes,
        "in_progress": counts["in_progress"], "waiting": counts["pending"],
    }  # fmt: skip


def _in_words(told: dict[str, Any]) -> Iterator[str]:
    yield f"{told['run']} ({told['spider']}): {_state(told)}"
    if told["parked_until"]:
        yield f"  parked until {told['parked_until']}: the API quota is used up"
    rows = {**told["lines"], **{f"{name} metadata": one for name, one in told["metadata"].items()}}
    width = max(map(len, rows), default=0)
    for name, line in rows.items():
        parts = [f"{line['done']:,}/{line['total']:,} done"]
        if line["outcomes"]:
            parts[0] += f" ({', '.join(f'{number:,} {end}' for end, number in line['outcomes'].items())})"
        parts += [f"{line['in_progress']:,} in progress", f"{line['waiting']:,} waiting"]
        if told["alive"] and line.get("per_minute") is not None:
            parts.append(f"{line['per_minute']:g} a minute")
            if line["done"] < line["total"]:
                parts.append("ETA unknown" if line["eta_s"] is None else f"ETA {_span(line['eta_s'])}")
        yield f"  {name.ljust(width)}  {', '.join(parts)}"
        if line.get("closed"):
            yield f"  {' ' * width}  closed: {line['closed']}"
        for pause in line.get("pauses", ()):
            yield f"  {' ' * width}  {pause['kind']}: breaker {pause['state']}, paused until {pause['until']}"
    if told["last_errors"]:
        yield "Last errors:"
        for one in told["last_errors"]:
            why = ": ".join(part for part in (one["reason"], one["detail"]) if part)
            yield f"  {one['finished_at']}  {one['video_id']} {one['kind']}: {why}"
    if told["what_to_do"]:
        yield f"Go on: {told['what_to_do']}"


def _state(told: dict[str, Any]) -> str:
    if told["alive"]:
        _, process, _, _ = (told["process"] or "///").rsplit("/", 3)
        stopping = ", asked to stop" if told["cancel_asked"] else ""
        word = "" if told["told_s_ago"] is None else f", last word {told['told_s_ago']} s ago"
        return f"at work, process {process}{word}{stopping}"
    if told["status"] == "in_progress":
        return "its process died; nothing that was stored is lost"
    if told["status"] == "success":
        return f"finished {told['finished_at']}"
    return f"stopped {told['finished_at']}: {told['reason']}"


def _ended(now: Standing) -> str:
    if now.status == "success":
        return f"it finished {now.finished_at}"
    return f"it stopped {now.finished_at} ({now.reason}). {_resume(now)} goes on"


def _resume(now: Standing) -> str:
    return f"research scrape --resume {now.run}"


def _ago(now: Standing, moment: float) -> int | None:
    return round(moment - now.live["at"]) if "lines" in now.live else None  # a spider alone tells only that it began


def _clock(moment: float | None) -> str | None:
    return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{rest} s"
