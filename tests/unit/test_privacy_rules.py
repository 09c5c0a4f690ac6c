"""Pseudonyms: stable inside a project, unlinkable between projects, and nothing left of the original."""

from __future__ import annotations

import json
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research_scrapers.errors import SettingInvalid
from research_scrapers.models import Comment, Segment, Transcript
from research_scrapers.privacy import Veil, key_path, project_key
from research_scrapers.store.database import Store
from research_scrapers.store.project import held_policy, settle_policy, veil_of
from tests.corpus import Corpus, danmaku
from tests.factories import comment

VEIL = Veil("pseudonymise", b"k" * 32)
CHANNEL = "UCabcdefghijklmnopqrstuv"


@pytest.fixture(autouse=True)
def _key(tmp_path, monkeypatch):
    monkeypatch.setenv("RESEARCH_PRIVACY_KEY", str(tmp_path / "keys" / "privacy.key"))


def test_the_key_file_is_its_owners_alone():
    one = project_key("a")
    assert stat.S_IMODE(key_path().stat().st_mode) == 0o600
    assert project_key("a") == one
    assert project_key("b") != one


@pytest.mark.parametrize("content", ["", "zz", "abcd", "é"])
def test_a_file_that_is_no_key(content):
    key_path().parent.mkdir()
    key_path().write_text(content, encoding="utf-8")
    with pytest.raises(SettingInvalid):
        project_key("a")


def test_projects_cannot_be_linked(tmp_path):
    stores = [Store(tmp_path / "a.db"), Store(tmp_path / "b.db")]
    one, other = (veil_of(store, "pseudonymise") for store in stores)
    assert one.id("UC1") == veil_of(stores[0], "pseudonymise").id("UC1")
    assert one.id("UC1") != other.id("UC1")
    assert one.name("@ann") != other.name("@ann")


def test_another_key_is_refused(tmp_path):
    store = Store(tmp_path / "a.db")
    veil_of(store, "pseudonymise")
    key_path().unlink()
    with pytest.raises(SettingInvalid, match="not the key"):
        veil_of(store, "pseudonymise")


def test_a_database_keeps_to_one_policy(tmp_path):
    store = Store(tmp_path / "a.db")
    settle_policy(store, "pseudonymise")
    assert held_policy(store) == "pseudonymise"
    with pytest.raises(SettingInvalid, match="begun with PRIVACY=pseudonymise"):
        settle_policy(store, "keep")
    made = Corpus(tmp_path, "b.db")
    made.run()
    made.texts(["x"])
    with pytest.raises(SettingInvalid, match="begun with PRIVACY=keep"):
        settle_policy(made.store, "drop")
    with pytest.raises(SettingInvalid):
        settle_policy(Store(tmp_path / "c.db"), "hide")


def test_a_handle_and_its_mention_have_one_pseudonym():
    one = VEIL.comment(comment("a", author_name="@Ann-Lee.x", text="hi"))
    text = VEIL.text("thanks @ann-lee.x. and @bob!")
    assert one.author_name in text
    assert "ann" not in text
    assert text.endswith("!")
    assert ". and " in text


@pytest.mark.parametrize(
    "text",
    [
        "@张三 你好", "回复 @李四 :好", "＠全角", f"see youtube.com/channel/{CHANNEL}", "space.bilibili.com/12345678",
        "me@example.org", "@a@b", "@Ann Lee hi",
    ],
)  # fmt: skip
@pytest.mark.parametrize("policy", ["pseudonymise", "drop"])
def test_mentions_in_many_scripts(text, policy):
    hidden = Veil(policy, b"k" * 32).text(text, {"Ann Lee"})
    for secret in ("张三", "李四", "全角", CHANNEL, "12345678", "example", "@a", "@b", "Lee"):
        assert secret not in hidden


@settings(deadline=None, max_examples=50)
@given(st.text(), st.text(), st.text())
def test_nothing_of_a_record_names_its_author(name, author, text):
    one = comment(
        "c", author_name=name, author_id=author, text=f"{text} @{name}", extras={"avatar": author, "handle": name}
    )
    for veil in (VEIL, Veil("drop")):
        (hidden,) = veil.records([one])
        assert isinstance(hidden, Comment)
        assert hidden.extras == {}
        if author:
            assert hidden.author_id != author
        assert veil.text(hidden.text) == hidden.text  # once hidden, nothing is left to hide
        assert Veil("keep").records([one]) == (one,)


def test_digests_do_not_confirm_a_guess():
    assert VEIL.comment(comment("a")).content_hash != comment("a").content_hash
    assert VEIL.danmaku(danmaku("d", "x", 1)).author_hash != "abc123"
    assert Veil("drop").danmaku(danmaku("d", "x", 1)).author_hash is None


@pytest.mark.parametrize("policy", ["pseudonymise", "drop"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx", "parquet", "sqlite", "ytdt", "ycd", "ytdlp", "xml", "md"])
def test_an_export_hides_what_a_database_keeps(tmp_path, policy, form):
    made = Corpus(tmp_path)
    made.run()
    secrets = {"author_id": "UCsecretsecretsecretsecr", "author_name": "@very-secret"}
    avatar = {"extras": {"avatar": "https://yt3.example/secret.jpg", "handle": "very-secret"}}
    made.comments([
        comment("a", text="mine", **secrets, **avatar), comment("b", parent="a", text="@very-secret you are right"),
    ])  # fmt: skip
    made.danmaku([danmaku("d1", "@very-secret 哈", 5, author_hash="secrethash")])
    made.transcript(["spoken"])
    made.video(channel_id=secrets["author_id"], channel_name="very-secret", title="with @very-secret")
    option = "--shape" if form.startswith("y") else "--format"
    made.invoke("export", option, form, "--privacy", policy, "--out", str(tmp_path / "out"))
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) > 4
    for path in written:
        assert b"secret" not in path.read_bytes(), path
    if form == "jsonl" and policy == "pseudonymise":
        first, second = map(json.loads, (tmp_path / "out" / "comments.jsonl").read_text(encoding="utf-8").splitlines())
        assert first["author_name"] in second["text"]


def test_pseudonyms_are_not_pseudonymised_again(tmp_path):
    made = Corpus(tmp_path)
    made.run()
    veil = settle_policy(made.store, "pseudonymise")
    made.comments(veil.records([comment("a", author_id="UC1", text="hi @somebody")]))
    result = made.invoke("export", "--out", "-", "--what", "comments", "--privacy", "pseudonymise")
    told = json.loads(result.stdout.splitlines()[0])
    assert (told["author_id"], told["text"]) == (veil.id("UC1"), veil.text("hi @somebody"))
    dropped = made.invoke("export", "--out", "-", "--what", "comments", "--privacy", "drop")
    assert json.loads(dropped.stdout.splitlines()[0])["author_id"] is None


def test_titles_of_parts_mention_nobody():
    hidden = Veil("drop").extras({"parts": [{"part": 1, "title": "with @somebody"}], "level": 6})
    assert hidden == {"parts": [{"part": 1, "title": "with @…"}], "level": 6}


def test_lines_of_a_transcript_mention_nobody():
    line = Segment(0.0, 1.0, "subtitles by @somebody", [(0.0, "@somebody")])
    made = Transcript("youtube", "v", 1, "en", "manual", "", [line], "hash", "now")
    hidden = Veil("drop").records([made])[0]
    assert hidden.segments == [Segment(0.0, 1.0, "subtitles by @…", [(0.0, "@…")])]
