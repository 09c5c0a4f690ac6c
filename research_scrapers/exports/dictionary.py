"""The data dictionary that lies beside every export: which file is what, and what each column means."""

from __future__ import annotations

from collections.abc import Sequence

from research_scrapers import __version__
from research_scrapers.store.columns import Column, Table

_NOTES = """\
Times are UTC, ISO 8601. Ids are text, always: do not let a program read them as numbers. An empty cell is «not told»,
not zero. Look at `coverage` first: a video that is not `complete` there is not complete in the other tables either, and
`coverage` and `coverage_reason` repeat it in every row.
"""
_CELLS = """\
In CSV files a cell that a spreadsheet would run as a formula begins with an apostrophe that is not part of the data
(with `--excel` also a number of 16 digits or more, which Excel would round): take one leading apostrophe away before
`= + - @ | % '`. `--cells plain` writes none.
"""


def dictionary(tables: Sequence[tuple[Table, Sequence[Column], int]], selection: str, form: str) -> str:
    """Markdown: what was chosen, then a table of columns for each table of the export."""
    text = [f"# Data dictionary\n\n{selection}\n\nWritten by research-scrapers {__version__}.\n\n{_NOTES}"]
    if form == "csv":
        text.append(_CELLS)
    for table, columns, count in tables:
        text.append(f"## {table.name}\n\n{table.about} {count:,} rows.\n\n| column | kind | meaning |\n|---|---|---|")
        text += [f"| `{column.name}` | {column.kind} | {column.meaning} |" for column in columns]
        text.append("")
    return "\n".join(text)
