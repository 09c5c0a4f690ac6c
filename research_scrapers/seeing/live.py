"""The display on a terminal: four lines, the workers, the last troubles. Redrawn in the reactor, by no thread."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from research_scrapers.control.watching import Ticking, Watcher
from research_scrapers.seeing.troubles import Troubles
from research_scrapers.seeing.view import LineView, Observer, View
from research_scrapers.seeing.words import harmless, lasting, state_of

if TYPE_CHECKING:
    from research_scrapers.control.centre import Centre
    from research_scrapers.crawling.gate import Gate

_EVERY_S = 0.5
_WIDE, _MIDDLE = 136, 100
"""From so many columns on there is room for everything, or for most."""
_COLOURS = {"closed": "green", "open": "red", "half-open": "yellow", "paused": "yellow", "stopped": "red"}


def drawn(view: View, troubles: Troubles, width: int) -> Group:
    """The display as rich draws it."""
    names = ["line", "progress", "done", "pages/s", "in flight", "waiting", "queue", "records", "workers", "breaker"]
    left_out = set() if width >= _WIDE else {"queue", "records"} if width >= _MIDDLE else {
        "queue", "records", "progress", "workers"}  # fmt: skip
    table = Table(box=None, padding=(0, 1), pad_edge=False, expand=False)
    shown = [name for name in [*names, "left"] if name not in left_out]
    for name in shown:
        to_the_left = name in ("line", "progress", "breaker")
        table.add_column(name, justify="left" if to_the_left else "right", no_wrap=True)
    for line in view.lines:
        cells = _cells(line, bar=20 if width >= _WIDE else 8)
        table.add_row(*(cells[name] for name in shown))
    foot = (
        f"{view.busy} of {view.workers} workers busy ({view.utilisation:.0%} so far, {view.stolen:,} stolen)  "
        f"{view.in_flight} of {view.most} in flight, {view.waiting} waiting  {view.rate:.1f} pages/s"
    )
    head = f"{view.run}  {view.done:,} of {view.total:,} done in {lasting(view.elapsed_s)}, {_left(view)}"
    worst = [
        Text(f"{time.strftime('%H:%M:%S', time.localtime(trouble.at))} {trouble.text}", "yellow", no_wrap=True,
             overflow="ellipsis")
        for trouble in list(troubles.last)
    ]  # fmt: skip
    return Group(Text(head, "bold", no_wrap=True, overflow="ellipsis"), table,
                 Text(foot, no_wrap=True, overflow="ellipsis"), *worst)  # fmt: skip


def _left(view: View) -> str:
    return "time left unknown" if view.eta_s is None else f"{lasting(view.eta_s)} left"


def _cells(line: LineView, *, bar: int) -> dict[str, Text | ProgressBar]:
    numbers = {
        "done": f"{line.done:,}/{line.total:,}", "pages/s": f"{line.rate:.1f}", "in flight": f"{line.in_flight}",
        "waiting": f"{line.waiting}", "queue": f"{line.queue:,}", "records": f"{line.records:,}",
        "workers": f"{line.busy}", "left": "done" if line.done >= line.total else lasting(line.eta_s),
    }  # fmt: skip
    return {
        **{name: Text(value) for name, value in numbers.items()},
        "line": Text(line.name),
        "progress": ProgressBar(max(line.total, 1), line.done, width=bar, complete_style="cyan"),
        "breaker": Text(state_of(line), _COLOURS[line.state]),
    }


class _Above(logging.Handler):
    """Writes the log above the display, which would be torn if it wrote over it."""

    def __init__(self, console: Console, level: int) -> None:
        super().__init__(level)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        moment = time.strftime("%H:%M:%S", time.localtime(record.created))
        text = f"{moment} {record.levelname}: {harmless(record.getMessage())}"
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        self._console.print(Text(text), soft_wrap=True)


class Display(Watcher):
    """Draws until the run ends; then the display is taken away, and the summary stands in its place."""

    def __init__(self, observer: Observer, troubles: Troubles, console: Console, level: int = logging.ERROR) -> None:
        self._observer = observer
        self._troubles = troubles
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._above = _Above(console, level)
        self._ticking = Ticking(lambda: _EVERY_S, self._draw)

    def begin(self, centre: Centre, gate: Gate) -> None:
        logging.getLogger().addHandler(self._above)

    def start(self) -> None:
        self._live.start()
        self._ticking.start()

    def _draw(self) -> None:
        self._live.update(drawn(self._observer.look(), self._troubles, self._console.width), refresh=True)

    def end(self) -> None:
        self._ticking.stop()
        self._live.stop()
        logging.getLogger().removeHandler(self._above)
