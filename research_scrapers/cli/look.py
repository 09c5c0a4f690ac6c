"""``research show``, ``research search`` and ``research diff``: reading without leaving the terminal."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from research_scrapers.cli.common import DB, existing, find_run
from research_scrapers.errors import InputError, LinkNotRecognised
from research_scrapers.links import recognise
from research_scrapers.models import counted
from research_scrapers.store.search import KINDS, Hit, Query, search
from research_scrapers.store.threads import Node, changes, only_in_one, threads, video_of

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\ufeff]")
"""What could move a terminal's cursor, change its colours or turn its text around."""
_DAY = re.compile(r"\d{4}(-\d{2}(-\d{2}(T[\d:.]+Z?)?)?)?")
_SIGNS = {"new": "+", "not_seen_before": "(+)", "gone": "-", "not_seen": "(-)", "edited": "~"}


def shown(text: str | None) -> str:
    """A stranger's text, safe to print."""
    return _CONTROL.sub("\ufffd", (text or "").replace("\r\n", "\n").replace("\r", "\n"))


@click.command("show")
@click.argument("video")
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, help="Threads to print; 0: all.")
@DB
def show_command(video: str, limit: int, db: Path) -> None:
    """Print the comments of VIDEO (a link or an id) as a tree."""
    with existing(db) as store, store.explained():
        found = video_of(store.conn, video) or video_of(store.conn, _id_of(video))
        if found is None:
            raise InputError(f"this database has no video {video}; `research coverage` lists them")
        click.echo("\n".join(_head(found)) + "\n")
        trees = threads(store.conn, found["provider"], found["video_id"])
        for tree in islice(trees, limit or None):
            click.echo("\n".join(_lines(tree)) + "\n")
        if limit and next(trees, None) is not None:
            click.echo(f"… the first {limit} threads; --limit 0 prints all")


def _id_of(video: str) -> str:
    try:
        return recognise(video)[1]
    except LinkNotRecognised:
        return video


def _head(video: dict[str, Any]) -> Iterator[str]:
    yield " — ".join(shown(video[name]) for name in ("title", "channel_name") if video[name]) or video["video_id"]
    claimed = "?" if video["claimed"] is None else f"{'' if video['claimed_exact'] else '~'}{video['claimed']:,}"
    reason = f" ({video['reason']})" if video["reason"] else ""
    yield (
        f"{video['provider']} {video['video_id']} · {counted(video['held'], 'comment')} held, the site claims {claimed}"
        f" · {video['coverage']}{reason}"
    )


def _lines(tree: Node) -> Iterator[str]:
    """A thread, however deep, without recursion: a site can nest deeper than Python calls."""
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        row = node.row
        space = "  " * min(depth, 20)
        facts = [shown(row["author_name"]) or "(nobody)", shown(row["published_text"] or row["published_after"])]
        if row["like_count"]:
            facts.append(f"{row['like_count']:,} likes")
        facts += [word for word in ("pinned", "hearted", "edited") if row[f"is_{word}"]]
        facts += ["answers a comment that is not held"] if node.orphan else []
        yield f"{space}{'└ ' if depth else ''}{' · '.join(fact for fact in facts if fact)}"
        for line in shown(row["text"]).split("\n"):
            yield f"{space}{'  ' if depth else ''}  {line}".rstrip()
        waiting += [(reply, depth + 1) for reply in reversed(node.replies)]


@click.command("search")
@click.argument("words")
@click.option("--provider", type=click.Choice(("youtube", "bilibili")))
@click.option("--since", help="Not before this day: 2024-01-31.")
@click.option("--until", help="Before this day.")
@click.option("--in", "kinds", help=f"{','.join(KINDS)} (default: all).")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Hits of each kind.")
@DB
def search_command(
    words: str, provider: str | None, since: str | None, until: str | None, kinds: str | None, limit: int, db: Path
) -> None:
    """Find WORDS in comments, danmaku and transcripts. "In quotes" is a phrase; word* begins a word."""
    for name, day in (("since", since), ("until", until)):
        if day and not _DAY.fullmatch(day):
            raise InputError(f"--{name} {day}: write a day as 2024-01-31")
    wanted = tuple(part.strip() for part in kinds.split(",")) if kinds else KINDS
    if set(wanted) - set(KINDS):
        raise InputError(f"--in {kinds}: there are {', '.join(KINDS)}")
    with existing(db) as store, store.explained():
        number = 0
        for hit in search(store.conn, Query(words, provider, since, until, wanted, limit)):
            number += 1
            click.echo(_hit(hit))
    if not number:
        raise InputError(f"nothing here has {words}")


def _hit(hit: Hit) -> str:
    place = "" if hit.place is None else f" at {int(hit.place) // 60}:{int(hit.place) % 60:02}"
    facts = [hit.kind + place, hit.provider, hit.video_id, shown(hit.title), shown(hit.author), shown(hit.when)]
    return f"{' · '.join(fact for fact in facts if fact)}\n  {shown(hit.snippet)}\n"


@click.command("diff")
@click.argument("run1")
@click.argument("run2")
@click.option("--format", "form", type=click.Choice(("text", "jsonl")), default="text", show_default=True)
@DB
def diff_command(run1: str, run2: str, form: str, db: Path) -> None:
    """Tell which comments are new, gone or edited in RUN2, against RUN1."""
    with existing(db) as store, store.explained():
        one, two = find_run(store, run1).id, find_run(store, run2).id
        counts: Counter[str] = Counter()
        for row in changes(store.conn, one, two):
            counts[row["change"]] += 1
            if form == "jsonl":
                click.echo(json.dumps({name: row[name] for name in row.keys() if name != "id"}, ensure_ascii=False))  # noqa: SIM118
            else:
                click.echo("\n".join(_change(row)))
        lonely = only_in_one(store.conn, one, two)
    total = ", ".join(f"{number:,} {change.replace('_', ' ')}" for change, number in counts.items())
    click.echo(f"{one} → {two}: {total or 'no difference'}", err=form == "jsonl")
    if counts["not_seen"] or counts["not_seen_before"]:
        click.echo("In brackets: of videos that one run did not read to their end; they may have been there.", err=True)
    if lonely:
        click.echo(f"{counted(len(lonely), 'video')} of one run only are left out", err=True)


def _change(row: Any) -> Iterator[str]:
    flat = " ".join(shown(row["text"]).split())
    yield f"{_SIGNS[row['change']]} {row['video_id']} {row['comment_id']} {shown(row['author_name'])}: {flat}"
    if row["earlier"] is not None:
        yield f"    was: {' '.join(shown(row['earlier']).split())}"
