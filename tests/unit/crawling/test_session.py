import errno
import json
import os
import platform
import subprocess
import sys

import pytest

from research_scrapers.crawling.session import Jobdir, is_alive, open_session, owner_name
from research_scrapers.errors import JobdirInUse, StoreFull, StoreUnwritable
from research_scrapers.store.database import Store
from research_scrapers.store.runs import Runs

CONFIG = {"options": {}}
LINKS = "links.txt"


def session(tmp_path, jobdir="job", spider="yt_comments"):
    return open_session(
        tmp_path / "research.db", spider, LINKS, CONFIG, jobdir=str(tmp_path / jobdir) if jobdir else None, lease_s=60
    )


def test_a_jobdir_names_its_run(tmp_path):
    first = session(tmp_path)
    first.close()
    second = session(tmp_path)
    assert (second.run.id, second.resumed) == (first.run.id, True)
    second.close()
    other = session(tmp_path, jobdir="other")
    assert (other.run.id != first.run.id, other.resumed) == (True, False)
    other.close()


def test_without_a_jobdir_every_session_is_a_new_run(tmp_path):
    first, second = session(tmp_path, None), session(tmp_path, None)
    assert first.run.id != second.run.id
    first.close()
    second.close()


@pytest.mark.parametrize("note", [None, "", "{", "[]", '{"other": 1}'])
def test_a_lost_or_broken_note_is_no_loss(tmp_path, note):
    first = session(tmp_path)
    first.close()
    path = tmp_path / "job" / "run.json"
    path.unlink() if note is None else path.write_text(note)
    again = session(tmp_path)
    assert again.run.id == first.run.id
    assert json.loads(path.read_text()) == {"run": first.run.id}
    again.close()


def test_a_jobdir_whose_database_is_gone_begins_a_new_run(tmp_path):
    first = session(tmp_path)
    first.close()
    for path in tmp_path.glob("research.db*"):
        path.unlink()
    again = session(tmp_path)
    assert not again.resumed
    again.close()


def test_a_jobdir_belongs_to_one_spider(tmp_path):
    session(tmp_path).close()
    with pytest.raises(JobdirInUse, match="belongs to a run of yt_comments"):
        session(tmp_path, spider="bili_comments")


def test_one_process_at_a_time(tmp_path):
    held = Jobdir(tmp_path / "job")
    with pytest.raises(JobdirInUse, match=f"process {os.getpid()}"):
        Jobdir(tmp_path / "job")
    held.unlock()
    Jobdir(tmp_path / "job").unlock()


def test_a_jobdir_on_a_full_disk_is_told_in_one_sentence(tmp_path, monkeypatch):
    def full(self, *args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(StoreFull, match="JOBDIR"):
        session(tmp_path)


def test_a_jobdir_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnwritable, match="JOBDIR"):
        Jobdir(tmp_path / "file")


def test_who_is_alive():
    assert is_alive(owner_name())
    assert is_alive("another-host/1/2/abc"), "another machine's process: its lease decides"
    assert is_alive("nonsense")
    pid = os.getpid()
    assert not is_alive(f"{platform.node()}/{pid}/1/abc"), "the number was used by an earlier process"


def test_a_dead_process_is_dead_even_before_it_is_buried():
    code = "from research_scrapers.crawling.session import owner_name; print(owner_name())"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    owner = process.stdout.readline().strip()
    process.stdout.read()
    while is_alive(owner) and process.poll() is None:
        pass
    assert not is_alive(owner)
    process.stdout.close()
    process.wait()


def test_the_newest_run(tmp_path):
    made = session(tmp_path, None)
    store = Store(tmp_path / "research.db")
    assert Runs(store).latest().id == made.run.id
    store.close()
    made.close()
