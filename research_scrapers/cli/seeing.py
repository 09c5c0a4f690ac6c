"""The options of `research scrape` that say what a person wants to see."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from research_scrapers.seeing.wanted import Wanted

_OPTIONS = (
    click.option("--plain", is_flag=True, help="Plain lines instead of the live display."),
    click.option("--log-json", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                 help="Also write the log to FILE, one JSON object a line."),
    click.option("--metrics-port", type=click.IntRange(0, 65535), metavar="N",
                 help="Serve metrics for Prometheus at http://127.0.0.1:N/metrics (0: any free port)."),
    click.option("--otel", is_flag=True, help="Send OpenTelemetry spans (needs the extra [otel])."),
)  # fmt: skip


def seeing_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options; the command gets them as one ``wanted``."""

    @wraps(command)
    def with_wanted(
        *args: Any, plain: bool, log_json: Path | None, metrics_port: int | None, otel: bool, **kwargs: Any
    ) -> None:
        command(*args, wanted=Wanted(plain, log_json, metrics_port, otel), **kwargs)

    for option in reversed(_OPTIONS):
        with_wanted = option(with_wanted)
    return with_wanted
