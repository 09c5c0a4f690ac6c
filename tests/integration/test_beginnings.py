"""How runs begin and end beside each other: tables made at once, links half read, a rest that another one has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from scrapy.settings import Settings

from research_scrapers.cli.main import cli
from research_scrapers.config import Config
from research_scrapers.control.reparse import _Reader
from research_scrapers.control.scrape import NAME, Order, scrape
from research_scrapers.errors import LinksEmpty, LinksMissing, RunCancelled, SettingInvalid
from research_scrapers.links import Links
from research_scrapers.models import Kind
from research_scrapers.store.database import Store
from research_scrapers.store.ledger import Ledger
from research_scrapers.store.raw import Kept
from research_scrapers.store.runs import Run, Runs

VIDEO = "https://www.youtube.com/watch?v=ZTxfDSJop0M"


def settings(db: Path, **more: object) -> Settings:
    known = Settings()
    known.setmodule("research_scrapers.settings", priority="project")
    known.setdict({"RESEARCH_DB": str(db), **more}, priority="cmdline")
    return known


def test_many_processes_make_a_database_at_once(tmp_path):
    code = "from pathlib import Path; from research_scrapers.store.database import Store; Store(Path('new.db'))"
    started = [
        subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in "12345"
    ]
    assert [(one.communicate()[1], one.returncode) for one in started] == [("", 0)] * 5


def test_a_run_whose_links_were_half_read_is_not_resumed_without_them(tmp_path, monkeypatch):
    db = tmp_path / "r.db"

    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Runs, "take_in", interrupted)
        with pytest.raises(RunCancelled, match="--links FILE"):
            scrape(settings(db), Order(Links("a test", texts=(VIDEO,))))
    store = Store(db)
    run = Runs(store).latest()
    store.close()
    with pytest.raises(LinksMissing, match="before all of its links were read"):
        scrape(settings(db), Order(None, resume=run.id))


def test_ctrl_c_before_anything_listens_for_it_is_a_sentence(tmp_path, monkeypatch):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("research_scrapers.cli.scrape.scrape", interrupted)
    done = CliRunner().invoke(cli, ["scrape", "--links", VIDEO, "--db", str(tmp_path / "r.db")])
    assert (done.exit_code, done.output.strip()) == (
        130,
        "research: stopped. Nothing is lost: the same command can be given again.",
    )


def test_a_run_without_a_video_is_over(tmp_path):
    with pytest.raises(LinksEmpty):
        scrape(settings(tmp_path / "r.db"), Order(Links("a test", texts=("no link",))))
    store = Store(tmp_path / "r.db")
    assert Runs(store).latest().status == "success"
    store.close()


def test_a_run_of_which_another_process_has_a_part_goes_on(tmp_path):
    store = Store(tmp_path / "r.db")
    runs = Runs(store)
    run = runs.create("run_1", NAME, config={"options": {}}, jobdir=None, links="")
    runs.take_in(run.id, Links("a test", texts=(VIDEO,)), {"youtube": (Kind.COMMENTS,)}, "a test")
    other = Ledger(store, run.id, "elsewhere/1/1/x")
    assert other.claim("youtube", {Kind.COMMENTS: "web"}) is not None
    before = runs.find(run.id).status
    assert runs.close(run.id, "interrupted") == 1
    assert runs.find(run.id).status == before != "cancelled"
    other.release()
    assert runs.close(run.id, "interrupted") == 1
    assert runs.find(run.id).status == "cancelled"
    store.close()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("WORKER_POOL_SIZE", 99_999_999, "at most 10,000"),
        ("TRANSCRIPTS_PRIORITY_BOOST", 0, "at least 0.01"),
        ("BREAKER_COOLDOWN_S", "nevr", "or never"),
    ],
)
def test_values_that_would_hang_a_run_are_refused(tmp_path, name, value, told):
    with pytest.raises(SettingInvalid, match=told):
        Config.from_settings(settings(tmp_path / "r.db", **{name: value}))


def test_bodies_of_a_run_over_all_lines_are_read_with_its_arguments(tmp_path, monkeypatch):
    monkeypatch.delenv("BILIBILI_SESSDATA", raising=False)  # reading again needs no login
    given = {"history": "2024-01-01", "max_comments": "5"}
    config = {"options": {"lines": ["bili_comments"], "danmaku": True, **given}, "arguments": given}
    store = Store(tmp_path / "r.db")
    reader = _Reader(store, Run("run_1", NAME, "success", None, "-", config, ""))
    kept = object.__new__(Kept)
    object.__setattr__(kept, "provider", "bilibili")
    object.__setattr__(kept, "kind", Kind.COMMENTS)
    options = reader.options(kept)
    assert (options.danmaku, options.max_comments) == (True, 5)
    store.close()
