"""A whole run under each policy, and a byte search of everything that it left on the disk."""

from __future__ import annotations

import json
import re

import pytest

from tests.conftest import Workplace

SPEC = [{"comments": 60}, {"comments": 25}]


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
            found |= {(one, path.name) for one in secrets if one.encode() in body}
    return found


@pytest.mark.parametrize("policy", ["pseudonymise", "drop"])
def test_nobody_is_named_on_the_disk_after_a_run(replica, tmp_path, policy):
    site = replica(spec=SPEC)
    kept, hidden = (Workplace(tmp_path / name, site.origin) for name in ("kept", "hidden"))
    for place in (kept, hidden):
        place.folder.mkdir()
        place.links(*site.videos)
    assert kept.crawl().returncode == 0
    secrets = people(kept.query("SELECT author_id, author_name, text, extras FROM comments"))
    channels = kept.query("SELECT channel_id FROM videos WHERE channel_id IS NOT NULL")
    secrets |= {row[0] for row in channels}
    assert len(secrets) > 20
    assert left_in(kept.folder, secrets)
    environment = {"RESEARCH_PRIVACY": policy, "RESEARCH_PRIVACY_KEY": str(tmp_path / "privacy.key")}
    done = hidden.crawl("-s", f"LOG_FILE={hidden.folder / 'log.txt'}", "-L", "DEBUG", env=environment)
    assert done.returncode == 0, done.stderr
    assert left_in(hidden.folder, secrets) == set()
    count = "SELECT count(*), count(DISTINCT author_id), count(DISTINCT comment_id) FROM comments"
    (rows, authors, ids), (rows_kept, authors_kept, ids_kept) = hidden.query(count)[0], kept.query(count)[0]
    assert (rows, ids) == (rows_kept, ids_kept)
    assert authors == (authors_kept if policy == "pseudonymise" else 0)
    config = json.loads(hidden.query("SELECT config FROM runs")[0][0])
    assert config["privacy"] == policy
    again = hidden.crawl(env={"RESEARCH_PRIVACY": "keep"})
    assert again.returncode == 2
    assert "begun with PRIVACY" in again.stderr
