"""A run report as text."""

from __future__ import annotations

from collections.abc import Sequence

from research_scrapers.reporting.histogram import Histogram
from research_scrapers.reporting.run_report import RunReport, coverage_by_line

ENDS = ("complete", "empty", "partial", "failed", "in_progress", "pending")
MOST = 12


def milliseconds(latency: Histogram, share: float) -> str:
    """A quantile, or a dash where nothing was measured."""
    value = latency.quantile(share)
    return "–" if value is None else f"{value * 1000:,.0f} ms"


def per_second(count: int, seconds: float) -> str:
    return f"{count / seconds:.1f}" if seconds else "–"


def run_text(report: RunReport) -> str:
    """Everything, in a few tables."""
    facts = report.facts
    state = ": ".join(str(facts[name]) for name in ("status", "reason") if facts.get(name))
    requests, pages = sum(line.requests for line in report.lines), sum(line.pages for line in report.lines)
    head = (
        f"{facts['id']}: {state}, begun {facts['created_at']}, {report.seconds:,.0f} s of work, {requests:,} requests "
        f"({per_second(requests, report.seconds)}/s), {pages:,} pages"
    )
    parts = [
        head,
        "Coverage\n" + _table(
            ("", "all", *(end.replace("_", " ") for end in ENDS), "claimed", "held", "pages"),
            [(row.name, f"{row.total:,}", *(f"{row.ends[end]:,}" for end in ENDS), f"{row.claimed:,}",
              f"{row.held:,}", f"{row.pages:,}") for row in coverage_by_line(report.endings)],
        ),
    ]  # fmt: skip
    if not report.lines:
        return "\n\n".join([*parts, "It was not watched while it ran, so its rates and latencies are not known."])
    parts += [
        "Lines\n" + _table(
            ("", "requests", "a second", "sent again", "from cache", "records", "p50", "p95"),
            [(line.name, f"{line.requests:,}", per_second(line.requests, report.seconds), f"{line.retries:,}",
              f"{line.cached:,}", f"{line.records:,}", milliseconds(line.latency, 0.5),
              milliseconds(line.latency, 0.95)) for line in report.lines],
        ),
        "Endpoints\n" + _table(
            ("", "answers", "p50", "p95"),
            [(one.name, f"{one.latency.total:,}", milliseconds(one.latency, 0.5), milliseconds(one.latency, 0.95))
             for one in report.endpoints[:MOST]],
        ),
    ]  # fmt: skip
    for title, counts in (("Answers that were refused", report.errors), ("Why work is missing", report.reasons)):
        if counts:
            rows = [(reason, f"{n:,}") for reason, n in counts.most_common(MOST)]
            parts.append(f"{title}\n" + _table(("reason", "times"), rows))
    return "\n\n".join(parts)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    return "\n".join(
        "  " + "  ".join(cell.rjust(width) if column else cell.ljust(width)
                         for column, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in [head, *rows]
    )  # fmt: skip
