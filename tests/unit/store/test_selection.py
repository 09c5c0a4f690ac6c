"""An export of millions of rows must not be sorted on the way."""

from __future__ import annotations

import pytest

from research_scrapers.store.columns import COMMENTS, DANMAKU, TRANSCRIPTS, WHOLE_TRANSCRIPTS
from research_scrapers.store.selection import snapshot
from tests.corpus import Corpus


@pytest.mark.parametrize("run", ["run_1", None])
@pytest.mark.parametrize("table", [COMMENTS, TRANSCRIPTS, WHOLE_TRANSCRIPTS, DANMAKU], ids=lambda table: table.about)
def test_rows_come_in_order_without_sorting_them_all(tmp_path, table, run):
    corpus = Corpus(tmp_path).everything()
    body = (table.of_all if run is None else table.of_run).format(where="")
    with snapshot(corpus.store, run) as conn:
        plan = [
            row["detail"] for row in conn.execute(
                f"EXPLAIN QUERY PLAN SELECT {table.columns[0].sql} FROM {body}", {"run": run} if run else {}
            )
        ]  # fmt: skip
    assert not [step for step in plan if step == "USE TEMP B-TREE FOR ORDER BY"], plan
