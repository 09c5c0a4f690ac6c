"""Which tracks are taken, in which order, and what is said about the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_scrapers.errors import NoTranscriptInLanguage, ResearchError, SettingInvalid
from research_scrapers.models import Track
from research_scrapers.providers.languages import fit
from research_scrapers.providers.tracks import Wanted, choose, wanted_of, why_not


def tracks(spec: str) -> tuple[Track, ...]:
    """``.en a.en* .de.Ab``: a star marks the own language, a bang what cannot be translated."""
    found = []
    for word in spec.split():
        name = word.rstrip("*!")
        kind, language = name.split(".")[:2]
        found.append(
            Track(name, language, "asr" if kind else "manual", name, f"https://x/{name}", "!" not in word, "*" in word)
        )
    return tuple(found)


@pytest.mark.parametrize(
    ("spec", "asked", "taken"),
    [
        (".de .en* a.en*", {}, ".en"),
        (".de a.en*", {}, "a.en"),
        (".de .fr", {}, ".de"),
        ("a.de .fr", {}, ".fr"),
        (".en.Ab* .en*", {}, ".en"),
        (".de .en* a.en*", {"languages": "de"}, ".de"),
        (".de .en* a.en*", {"languages": "ko,de,en"}, ".de"),
        ("a.de .en*", {"languages": "de,en"}, "a.de"),
        (".de .en* a.en*", {"languages": "ko,*"}, ".en"),
        (".en-GB .en-US", {"languages": "en"}, ".en-GB"),
        (".en-GB .en", {"languages": "en"}, ".en"),
        (".en-US .en", {"languages": "en-GB"}, ".en"),
        (".zh-TW .zh-CN", {"languages": "zh-Hans"}, ".zh-CN"),
        (".zh-TW .zh-CN .zh-Hans", {"languages": "zh-Hans"}, ".zh-Hans"),
        (".zh .zh-HK", {"languages": "zh-Hant"}, ".zh-HK"),
        (".zh", {"languages": "zh-Hans"}, ".zh"),
        (".iw", {"languages": "he"}, ".iw"),
        (".fil", {"languages": "tl"}, ".fil"),
        (".en* a.en*", {"kinds": "asr"}, "a.en"),
        (".en* a.en*", {"kinds": "asr,manual"}, "a.en"),
        (".en* a.en* .de .en.Ab*", {"tracks": "all"}, ".en .en.Ab a.en .de"),
        (".en* a.en* .de .fr", {"tracks": "all", "languages": "fr,en"}, ".fr .en a.en"),
        (".en* a.en* .de a.fr", {"tracks": "all", "languages": "*", "kinds": "manual"}, ".en .de"),
    ],
)
def test_taken(spec, asked, taken):
    choice = choose(tracks(spec), wanted_of(**asked))
    assert [track.track_id for track in choice.taken] == taken.split()
    everything = [track.track_id for track in choice.taken] + [track.track_id for track, _ in choice.left_out]
    assert sorted(everything) == sorted(track.track_id for track in tracks(spec))


@pytest.mark.parametrize(
    ("spec", "asked", "detail"),
    [
        (".de a.en*", {"languages": "ko"}, "asked for ko (manual or asr); there are: de (manual), en (asr)"),
        (".en-US", {"languages": "en-GB"}, "asked for en-GB (manual or asr); there are: en-US (manual)"),
        (".zh-TW", {"languages": "zh-Hans"}, "asked for zh-Hans (manual or asr); there are: zh-TW (manual)"),
        (".de a.en*", {"kinds": "manual"}, "asked for the video's own language (manual); there are: de (manual), en"),
    ],
)
def test_nothing_fits(spec, asked, detail):
    with pytest.raises(NoTranscriptInLanguage) as caught:
        choose(tracks(spec), wanted_of(**asked))
    assert caught.value.detail.startswith(detail)


@pytest.mark.parametrize(
    ("spec", "asked", "translated", "left"),
    [
        (".en*", {"translate": "de"}, [(".en", "de")], []),
        (".en*", {"translate": "de,fr"}, [(".en", "de"), (".en", "fr")], []),
        (".en*", {"translate": "en"}, [], []),
        (".en-GB*", {"translate": "en"}, [], []),
        (".en*!", {"translate": "de"}, [], [(".en", "not_translatable:de")]),
        (".en*! a.en*", {"translate": "de", "tracks": "all"}, [("a.en", "de")], []),
        (".en* .de", {"translate": "en", "tracks": "all"}, [(".de", "en")], []),
        (".en*", {"translate": "xx"}, [], [(".en", "not_translatable:xx")]),
    ],
)
def test_translations(spec, asked, translated, left):
    choice = choose(tracks(spec), wanted_of(**asked), ("de", "en", "fr"))
    assert [(track.track_id, code) for track, code in choice.translated] == translated
    assert [(track.track_id, why) for track, why in choice.left_out if track in choice.taken] == left


def test_translations_only_on_request():
    assert choose(tracks(".en* .de"), Wanted(all_tracks=True)).translated == ()


def test_why_others_are_left_out():
    choice = choose(tracks(".en* a.en* .en.Ab* .de"), wanted_of(kinds="manual"))
    assert {track.track_id: why for track, why in choice.left_out} == {
        "a.en": "kind_not_wanted",
        ".en.Ab": "another_preferred",
        ".de": "language_not_wanted",
    }


def test_arguments():
    assert wanted_of() == wanted_of("", " ", "", "") == Wanted()
    assert wanted_of(" en , zh-Hans,en,*", "asr,manual", "de", "all") == Wanted(
        ("en", "zh-Hans", "*"), ("asr", "manual"), ("de",), True
    )


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ({"languages": "english"}, "Did you mean en?"),
        ({"languages": "en_US"}, "Did you mean en-US?"),
        ({"languages": "en,!!"}, "-a languages=!!"),
        ({"languages": "all"}, "Did you mean *?"),
        ({"kinds": "manul"}, "Did you mean manual?"),
        ({"kinds": "auto"}, "Did you mean asr?"),
        ({"kinds": "zzz"}, "There are: manual, asr"),
        ({"translate": "german"}, "Did you mean de?"),
        ({"translate": "*"}, "name the languages"),
        ({"tracks": "al"}, "Did you mean all?"),
        ({"tracks": "7"}, "There are: best, all"),
    ],
)
def test_wrong_arguments(asked, hint):
    with pytest.raises(SettingInvalid) as caught:
        wanted_of(**asked)
    assert hint in str(caught.value)


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20), st.text(max_size=9))
def test_arguments_of_anything(languages, kinds, translate, how):
    try:
        choose(tracks(".en* a.en* .de"), wanted_of(languages, kinds, translate, how))
    except ResearchError:
        return


@given(st.text(max_size=12), st.text(max_size=12))
def test_fit_is_reflexive_and_mirrored(one, other):
    assert fit(one, one) == 0
    if "*" not in (one, other):
        assert (fit(one, other) is None) == (fit(other, one) is None)


def test_people_are_told_why_not_the_others():
    choice = choose(tracks(".de .en* a.en* a.fr!"), wanted_of(translate="ko", kinds="manual"))
    assert why_not(choice) == "language not asked for: de (manual); kind not asked for: en (asr), fr (asr)"
    assert why_not(choose(tracks(".en!*"), wanted_of(translate="ko"))) == "not translatable into ko: en (manual)"
    assert not why_not(choose(tracks(".en*"), wanted_of()))
    many = tracks(" ".join(f".{first}{second}" for first in "abcde" for second in "klmnop"))
    assert why_not(choose((*tracks(".en*"), *many), wanted_of())).endswith(" and 9 more")
