"""The report is whole HTML, says what is partial, and lets no stranger's text become markup."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from research_scrapers.exports.pictures import bars, histogram, over_time
from tests.corpus import Corpus, danmaku
from tests.factories import VIDEO, comment

ATTACK = '<script>alert("x")</script><img src=x onerror=alert(1)>'


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def test_a_report_has_coverage_and_pictures(tmp_path):
    made = Corpus(tmp_path).everything()
    made.video(title=ATTACK)
    made.conn.execute("UPDATE sub_jobs SET reason = ? WHERE kind = 'comments'", (ATTACK,))
    made.invoke("report", "--html", str(tmp_path / "r.html"))
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    names = [tag for tag, _ in tags.seen]
    assert "script" not in names
    assert "img" not in names
    assert not [key for _, attributes in tags.seen for key in attributes if key.startswith("on")]
    assert not re.search(r'(?:src|href)="', text)
    assert '<td class="odd">partial</td>' in text
    for picture in ("Comments over time", "Depth in the thread", "Danmaku density", "Languages of transcripts"):
        assert f'aria-label="{picture}"' in text
    for svg in re.findall(r"<svg.*?</svg>", text, flags=re.S):
        ET.fromstring(svg)


def test_an_empty_run_has_a_report_too(tmp_path):
    made = Corpus(tmp_path)
    made.run()
    made.invoke("report", "--html", str(tmp_path / "r.html"))
    assert "Nothing to draw" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_an_uncertain_time_is_spread_and_pale():
    sharp = over_time([("2024-01-01", "2024-01-01", 5), ("2024-12-31", "2024-12-31", 5)])
    assert sharp.count('class="sure"') == 2
    assert "pale" not in sharp
    vague = over_time([("2024-01-01", "2024-12-31", 60)])
    assert vague.count('class="pale"') == 60
    assert "sure" not in vague
    assert over_time([("never", "ever", 1)]) == ""


@settings(deadline=None, max_examples=50)
@given(st.text(), st.integers(0, 10**9))
def test_any_label_is_good_xml(text, number):
    clean = "".join(sign for sign in text if sign.isprintable())
    for svg in (bars(clean, [(clean, number, 1.0)], clean, clean), histogram(clean, [(clean, number)])):
        ET.fromstring(svg)


def test_danmaku_density_follows_the_videos_length(tmp_path):
    made = Corpus(tmp_path)
    made.run()
    made.video(duration_s=60)
    made.danmaku(danmaku(f"d{n}", "x", 30_000) for n in range(3))
    made.comments([comment("a", published_after=None, published_before=None)])
    made.invoke("report", "--html", str(tmp_path / "r.html"))
    assert "<title>50 %: 3</title>" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_datasette_reads_the_database_with_our_metadata(tmp_path):
    made = Corpus(tmp_path).everything()
    made.store.close()
    path = made.invoke("datasette", "--metadata").stdout.strip()
    told = json.loads((tmp_path / path).read_text(encoding="utf-8"))
    assert told["databases"]["research"]["tables"]["comments"]["columns"]["text"]
    done = subprocess.run(
        [sys.executable, "-m", "datasette", "serve", str(made.path), "--metadata", path, "--get",
         f"/research/comments.json?video_id={VIDEO}&_search=plain&_shape=array"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [row["text"] for row in json.loads(done.stdout)] == ["plain"], done.stderr
