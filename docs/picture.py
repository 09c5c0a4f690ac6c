"""Makes docs/demo.svg: what ``make demo`` prints, as a picture. Run it when the output changes: make picture."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

_COLOURS = {"complete": "#7ee787", "empty": "#79c0ff", "partial": "#e3b341", "failed": "#ff7b72"}
_COLUMNS, _SIZE, _LINE = 122, 13, 19
_ROWS = 11
_PASSING = re.compile(r"INFO: Scrapy|pages/s|; try \d of|is left out|without a video")


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


def shortened(lines: list[str]) -> list[str]:
    """Without what is told while it goes on, and of each table only the first rows: the odd ones."""
    kept: list[str] = []
    rows = -1
    for line in lines:
        if _PASSING.search(line):
            continue
        rows = 0 if line.startswith("video ") else rows + 1 if rows >= 0 and line else -1
        if rows == _ROWS:
            kept.append("…")
        if rows < _ROWS and (line or (kept and kept[-1])):
            kept.append(re.sub(r"^\S+ \S+ INFO: ", "", line))
    return kept


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run(
            [sys.executable, "-c", "from research_scrapers.cli.main import main; main()", "demo"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True,
        ).stdout  # fmt: skip
    lines = ["$ make demo", *shortened(printed.splitlines())]
    Path(__file__).with_name("demo.svg").write_text(drawn(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
