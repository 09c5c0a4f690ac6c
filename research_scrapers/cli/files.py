"""Transcripts as files: ``{video_id}.{language}.{kind}.srt`` and the like."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from research_scrapers.errors import FeedUnwritable
from research_scrapers.formats import WRITERS, file_name
from research_scrapers.models import Transcript


def write_transcripts(transcripts: Iterable[Transcript], form: str, folder: Path | None) -> int:
    """Write each transcript to its file, or print it when there is no folder. Returns how many there were."""
    written = 0
    taken: set[str] = set()
    for transcript in transcripts:
        text = WRITERS[form](transcript)
        written += 1
        if folder is None:
            click.echo(text)
            continue
        name = file_name(transcript, form)
        if name.casefold() in taken:  # two tracks of one language: the second says which
            name = file_name(transcript, form, track=transcript.name or str(written))
        taken.add(name.casefold())
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise FeedUnwritable(f"{folder / name}: {error.strerror}") from error
    return written
