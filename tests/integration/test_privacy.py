"""A whole run under each policy, and a byte search of everything that it left on the disk."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.conftest import Workplace

SITES = {
    "yt_comments": [{"comments": 60}, {"comments": 25}],
    "bili_comments": [{"site": "bilibili", "comments": 40, "danmaku": 80}],
}


def people(db_rows):
    """Ids, handles and mentions of a run that kept them."""
    found = set()
    for author, name, text, extras in db_rows:
        found |= {author, name, json.loads(extras).get("avatar"), json.loads(extras).get("handle")}
        found |= set(re.findall(r"@[\w.\-]{3,}", text))
    return {one.rstrip(".-") for one in found if one and len(one) > 4}


def left_in(folder, secrets):
    found = set()
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "links.txt":
            body = path.read_bytes()
            found |= {(one, path.name) for one in secrets if one.encode() in body and _alone(one.encode(), body)}
    return found


def _alone(secret, body):
    """A number counts only by itself, not as part of a longer one."""
    return not secret.isdigit() or re.search(rb"(?<!\d)" + secret + rb"(?!\d)", body)


def crawl(place, spider, *extra, **environment):
    command = [spider if part == "yt_comments" else part for part in place.command(*extra)]
    return subprocess.run(
        command, env={**place.environment, **environment}, cwd=place.folder, text=True, capture_output=True, timeout=99,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("policy", ["pseudonymise", "drop"])
@pytest.mark.parametrize("spider", SITES)
def test_nobody_is_named_on_the_disk_after_a_run(replica, tmp_path, spider, policy):
    site = replica(spec=SITES[spider])
    kept, hidden = (Workplace(tmp_path / name, site.origin) for name in ("kept", "hidden"))
    for place in (kept, hidden):
        place.folder.mkdir()
        links = [f"https://www.youtube.com/watch?v={video}&ab_channel=SomebodyReal" for video in site.videos]
        links += [f"https://www.bilibili.com/video/{video}/?mid=77000111&p=1" for video in site.bili_videos]
        place.links(*links, "https://www.youtube.com/@somebody-real", "https://space.bilibili.com/77000111")
    done = crawl(kept, spider)
    assert done.returncode == 0, done.stderr
    secrets = people(kept.query("SELECT author_id, author_name, text, extras FROM comments"))
    secrets |= {row[0] for row in kept.query("SELECT channel_id FROM videos WHERE channel_id IS NOT NULL")}
    secrets |= {row[0] for row in kept.query("SELECT DISTINCT author_hash FROM danmaku WHERE author_hash IS NOT NULL")}
    secrets |= {"SomebodyReal", "@somebody-real", "77000111"}
    assert len(secrets) > 20
    assert left_in(kept.folder, secrets)
    environment = {"RESEARCH_PRIVACY": policy, "RESEARCH_PRIVACY_KEY": str(tmp_path / "privacy.key")}
    done = crawl(hidden, spider, "-s", f"LOG_FILE={hidden.folder / 'log.txt'}", "-L", "DEBUG", **environment)
    assert done.returncode == 0, done.stderr
    assert left_in(hidden.folder, secrets) == set()
    count = "SELECT count(*), count(DISTINCT author_id), count(DISTINCT comment_id) FROM comments"
    (rows, authors, ids), (rows_kept, authors_kept, ids_kept) = hidden.query(count)[0], kept.query(count)[0]
    assert (rows, ids) == (rows_kept, ids_kept)
    assert authors == (authors_kept if policy == "pseudonymise" else 0)
    config = json.loads(hidden.query("SELECT config FROM runs")[0][0])
    assert config["privacy"] == policy
    again = crawl(hidden, spider, RESEARCH_PRIVACY="keep")
    assert again.returncode == 2
    assert "begun with PRIVACY" in again.stderr
