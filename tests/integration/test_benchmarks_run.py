"""Every benchmark in its quick form: that it runs, and that what it compares found the same. No figure is judged."""

import pytest

from benchmarks.__main__ import MODULES


@pytest.mark.long
@pytest.mark.parametrize("name", MODULES)
def test_it_runs(name):
    if name == "peers":
        for peer in ("yt_dlp", "youtube_comment_downloader", "bilibili_api"):
            pytest.importorskip(peer)
    module = pytest.importorskip(f"benchmarks.{name}")
    rows = module.rows(quick=True)
    assert rows
    for row in rows:
        assert row.ratio > 0
        assert row.command.startswith("python -m benchmarks.")
