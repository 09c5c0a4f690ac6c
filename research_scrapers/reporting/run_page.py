"""A run report as one page that needs nothing else: no script, no font, no address."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from research_scrapers.reporting.run_report import Moment, RunReport, all_lines, coverage_by_line
from research_scrapers.reporting.run_text import ENDS, MOST, milliseconds, per_second
from research_scrapers.reporting.svg import bars, lines_over_time

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1rem 0 2rem; } figcaption { margin-bottom: .3rem; } svg { width: 100%; height: auto; }
svg text { font-size: 12px; fill: currentColor; } .grid { stroke: #8884; }
.key { margin-left: .8rem; white-space: nowrap; } .key i { display: inline-block; width: .8rem; height: .3rem;
  margin-right: .3rem; vertical-align: middle; }
"""


def run_page(report: RunReport) -> str:
    """The page."""
    facts = report.facts
    state = ": ".join(str(facts[name]) for name in ("status", "reason") if facts.get(name))
    requests = sum(line.requests for line in report.lines)
    told = [
        ("state", state), ("begun", facts["created_at"]), ("ended", facts["finished_at"]), ("links", facts["links"]),
        ("work", f"{report.seconds:,.0f} s"),
        ("requests", f"{requests:,} ({per_second(requests, report.seconds)} a second)"),
        ("API quota", f"{facts['quota_used']:,} units" if facts["quota_used"] else None),
    ]  # fmt: skip
    parts = [
        _table(("", ""), [(name, str(value)) for name, value in told if value]),
        "<h2>Coverage</h2>",
        _table(
            ("", "all", *(end.replace("_", " ") for end in ENDS), "claimed", "held", "pages"),
            [(row.name, f"{row.total:,}", *(f"{row.ends[end]:,}" for end in ENDS), f"{row.claimed:,}",
              f"{row.held:,}", f"{row.pages:,}") for row in coverage_by_line(report.endings)],
        ),
    ]  # fmt: skip
    if report.reasons:
        parts.append(bars("Why work is missing", "sub-jobs by reason", dict(report.reasons.most_common(MOST))))
    parts += _watched(report) if report.lines else ["<p>It was not watched while it ran.</p>"]
    return page(f"Run {facts['id']}", "".join(parts))


def _watched(report: RunReport) -> list[str]:
    together = all_lines(report.lines)
    parts = [
        "<h2>Rate</h2>",
        lines_over_time("Rate over time", "pages a second", {
            line.name: [(one.second, _rate(one.pages, one)) for one in line.moments] for line in report.lines
        }),
        lines_over_time("Requests and refusals", "a second", {
            "requests": [(one.second, _rate(one.requests, one)) for one in together],
            "refusals and faults": [(one.second, _rate(one.errors, one)) for one in together],
        }),
        lines_over_time("Workers", "busy", {"workers": [(one.second, one.busy / one.seconds) for one in together]}),
        "<h2>Latency</h2>",
        lines_over_time("Latency over time", "milliseconds", {
            f"p{share:.0%}".rstrip("%"): [
                (one.second, value * 1000) for one in together if (value := one.latency.quantile(share)) is not None
            ]
            for share in (0.5, 0.95)
        }),
        _table(("endpoint", "answers", "p50", "p95"), [
            (one.name, f"{one.latency.total:,}", milliseconds(one.latency, 0.5), milliseconds(one.latency, 0.95))
            for one in report.endpoints[:MOST]
        ]),
        "<h2>Lines</h2>",
        _table(("line", "requests", "a second", "sent again", "from cache", "pages", "records", "p50", "p95"), [
            (line.name, f"{line.requests:,}", per_second(line.requests, report.seconds), f"{line.retries:,}",
             f"{line.cached:,}", f"{line.pages:,}", f"{line.records:,}", milliseconds(line.latency, 0.5),
             milliseconds(line.latency, 0.95)) for line in report.lines
        ]),
    ]  # fmt: skip
    if report.errors:
        parts += [
            "<h2>Errors</h2>",
            bars("Answers that were refused", "by reason", dict(report.errors.most_common(MOST))),
        ]
    return parts


def _rate(count: int, moment: Moment) -> float:
    return count / moment.seconds if moment.seconds else 0.0


def page(title: str, body: str) -> str:
    """A whole page around a body that is escaped already."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><h1>{escape(title)}</h1>{body}"
        "</body></html>\n"
    )


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if any(head) else ''}<tbody>{body}</tbody></table>"
