"""Makes docs/demo.svg, what ``make demo`` prints, and docs/live.svg, the display of a real ``research scrape`` on the
replica while it runs. Run it when either changes: make picture.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from html import escape
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from research_scrapers import scrape
from research_scrapers.control.centre import Centre
from research_scrapers.control.watching import Ticking, Watcher
from research_scrapers.crawling.gate import Gate
from research_scrapers.errors import RunCancelled
from research_scrapers.replica.launch import ReplicaProcess
from research_scrapers.seeing.live import drawn as display
from research_scrapers.seeing.metrics import Metrics
from research_scrapers.seeing.troubles import Troubles
from research_scrapers.seeing.view import Observer

_COLOURS = {"complete": "#7ee787", "empty": "#79c0ff", "partial": "#e3b341", "failed": "#ff7b72"}
_COLUMNS, _SIZE, _LINE = 122, 13, 19
_WIDTH = 136


def drawn(lines: list[str]) -> str:
    """Lines of a terminal as SVG, with the four outcomes in colour and no font from elsewhere."""
    width, height = int(_COLUMNS * _SIZE * 0.61) + 32, len(lines) * _LINE + 32
    rows = []
    for number, line in enumerate(lines):
        shown = escape(line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…").replace(" ", "\u00a0")
        for word, colour in _COLOURS.items():
            shown = re.sub(rf"\b{word}\b", f'<tspan fill="{colour}">{word}</tspan>', shown)
        rows.append(f'<text x="16" y="{(number + 1) * _LINE + 10}">{shown}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>'
        f'<g font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{_SIZE}"'
        ' fill="#e6edf3">'
        f"{''.join(rows)}</g></svg>\n"
    )


class Photographer(Watcher):
    """Takes a picture of the display while a line has to wait, at the latest when half is done; then it is enough."""

    def __init__(self, observer: Observer, troubles: Troubles) -> None:
        self.picture = ""
        self._observer, self._troubles = observer, troubles
        self._ticking = Ticking(lambda: 0.5, self._look)

    def begin(self, centre: Centre, gate: Gate) -> None:
        self._centre = centre

    def start(self) -> None:
        self._ticking.start()

    def _look(self) -> None:
        view = self._observer.look()
        waits = any(line.wait_s > 1 for line in view.lines) and view.elapsed_s > 5
        if self.picture or not (waits or view.done > view.total / 2 > 0):
            return
        console = Console(record=True, width=_WIDTH, file=StringIO(), force_terminal=True)
        console.print("$ research scrape --links links.txt")
        console.print(display(view, self._troubles, _WIDTH))
        svg = console.export_svg(title="research scrape", theme=MONOKAI, unique_id="live")
        svg = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", svg, flags=re.DOTALL)  # no font from elsewhere
        self.picture = re.sub(r"[ \t]+$", "", svg.replace("Fira Code", "DejaVu Sans Mono"), flags=re.MULTILINE)
        self._centre.stop(RunCancelled("the picture is taken"))

    def end(self) -> None:
        self._ticking.stop()


def live() -> str:
    """The display of a run over both sites, with a fault or two."""
    metrics, troubles = Metrics(), Troubles()
    photographer = Photographer(Observer(metrics), troubles)
    options = ("--bili-videos", "20", "--sessdata", "demo", "--robots", "open", "--latency-ms", "60")
    videos = [*({"comments": 30 + 7 * number} for number in range(30)), {"state": "private"}, {"state": "removed"}]
    with tempfile.TemporaryDirectory() as folder, ReplicaProcess("--videos", "0", *options, spec=videos) as replica:
        replica.faults({"action": "status", "status": 429, "retry_after": 9.0, "path": "/youtubei/v1/next",
                        "skip": 160, "count": 1})  # fmt: skip
        links = [*(f"https://youtu.be/{video}" for video in replica.videos),
                 *(f"https://www.bilibili.com/video/{video}" for video in replica.bili_videos)]  # fmt: skip
        settings = {"ORIGIN": replica.origin, "LOG_ENABLED": False, "BILIBILI_SESSDATA": "demo",
                    "DOMAIN_RATES": "bilibili.com=10", "DOMAIN_CONCURRENCY": "bilibili.com=8"}  # fmt: skip
        scrape(links, db=Path(folder, "live.db"), settings=settings, watchers=[metrics, troubles, photographer])
    return photographer.picture


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run(
            [sys.executable, "-c", "from research_scrapers.cli.main import main; main()", "demo"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
        ).stdout  # fmt: skip
    lines = ["$ make demo", *printed.splitlines()]
    Path(__file__).with_name("demo.svg").write_text(drawn(lines), encoding="utf-8")
    Path(__file__).with_name("live.svg").write_text(live(), encoding="utf-8")


if __name__ == "__main__":
    main()
