"""``research forget``: a person or a video, gone from everything that this database has."""

from __future__ import annotations

from pathlib import Path

import click

from research_scrapers.cli.common import DB, existing
from research_scrapers.errors import InputError, LinkNotRecognised
from research_scrapers.links import recognise
from research_scrapers.models import counted
from research_scrapers.store.forget import forget_author, forget_video
from research_scrapers.store.project import held_policy, veil_of


@click.command("forget")
@click.option("--author", help="A person: the site's id, a handle (@name), or a pseudonym.")
@click.option("--video", help="A video: a link or an id.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@DB
def forget_command(author: str | None, video: str | None, yes: bool, db: Path) -> None:
    """Remove a person or a video: rows, earlier wordings, full text, raw bodies, and every trace in the file."""
    if bool(author) == bool(video):
        raise InputError("name a person with --author, or a video with --video, but not both")
    with existing(db) as store:
        if not yes:
            click.confirm(f"Remove {author or video} from {db} for good?", abort=True, err=True)
        if author:
            policy = held_policy(store)
            done = forget_author(store, author, veil_of(store, policy) if policy == "pseudonymise" else None)
        else:
            done = forget_video(store, _id_of(str(video)))
    if not done.anything:
        raise InputError(f"{db} has nothing of {author or video}")
    told = [
        counted(done.comments, "comment"), f"{done.danmaku:,} danmaku", counted(done.transcripts, "transcript"),
        counted(done.mentions, "mention"), counted(done.videos, "video"), counted(done.bodies, "raw body"),
    ]  # fmt: skip
    told[-1] = f"{done.bodies:,} raw bodies"
    click.echo(
        f"Removed: {', '.join(told)}. Exports and feeds that were made before are files of their own: delete them."
    )


def _id_of(video: str) -> str:
    try:
        return recognise(video)[1]
    except LinkNotRecognised:
        return video
