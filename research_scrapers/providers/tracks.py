"""Which of a video's caption tracks to take. By default one: the video's own language, by a person before a machine.

``languages`` is an order of preference, not a shopping list: the first that exists is taken. ``tracks=all`` takes
every track that fits. Translations are machine work on top of a track, so they come on request only and last.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from research_scrapers.errors import LayoutChanged, NoTranscriptInLanguage, SettingInvalid
from research_scrapers.models import Track
from research_scrapers.providers.languages import ANY, fit, is_code

MANUAL, ASR, TRANSLATED = "manual", "asr", "translated"
KINDS = (MANUAL, ASR)
TRACKS = ("best", "all")

NO_ADDRESS = "no_address"
OTHER_KIND = "kind_not_wanted"
OTHER_LANGUAGE = "language_not_wanted"
ANOTHER_PREFERRED = "another_preferred"
NOT_TRANSLATABLE = "not_translatable"

_WORDS = {
    NO_ADDRESS: "without an address",
    OTHER_KIND: "kind not asked for",
    OTHER_LANGUAGE: "language not asked for",
    ANOTHER_PREFERRED: "another is preferred",
    NOT_TRANSLATABLE: "not translatable",
}
_NAMED = 20
"""So many tracks are named to people; the video's extras list them all."""

_ALIASES = {"auto": ASR, "automatic": ASR, "generated": ASR, "human": MANUAL, "every": "all", "one": "best"}
_NAMES = {
    "arabic": "ar", "chinese": "zh", "dutch": "nl", "english": "en", "french": "fr", "german": "de", "hindi": "hi",
    "italian": "it", "japanese": "ja", "korean": "ko", "polish": "pl", "portuguese": "pt", "russian": "ru",
    "spanish": "es", "turkish": "tr", "ukrainian": "uk", "vietnamese": "vi", "all": ANY, "any": ANY,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked for. No languages: the video's own."""

    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = KINDS
    translate: tuple[str, ...] = ()
    all_tracks: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """What is taken, what is translated into what, and why the others are not."""

    taken: tuple[Track, ...]
    translated: tuple[tuple[Track, str], ...] = ()
    left_out: tuple[tuple[Track, str], ...] = ()


def wanted_of(
    languages: str | None = None, kinds: str | None = None, translate: str | None = None, tracks: str | None = None
) -> Wanted:
    """The spider arguments, checked. Nothing given means nothing asked for."""
    for code in _listed(translate):
        if code == ANY:
            raise SettingInvalid("-a translate=*: name the languages to translate into")
    return Wanted(
        languages=tuple(_language("languages", code) for code in _listed(languages)),
        kinds=tuple(_one_of("kinds", kind, KINDS) for kind in _listed(kinds)) or KINDS,
        translate=tuple(_language("translate", code) for code in _listed(translate)),
        all_tracks=_one_of("tracks", (tracks or "").strip() or "best", TRACKS) == "all",
    )


def choose(tracks: tuple[Track, ...], wanted: Wanted, translations: tuple[str, ...] = ()) -> Choice:
    """The tracks to take, best first. ``translations``: the languages on offer, if that list is known to be whole."""
    known = any(track.is_own for track in tracks)
    ranked = [(_rank(track, wanted, known), track) for track in tracks]
    fitting = sorted((pair for pair in ranked if isinstance(pair[0], tuple)), key=lambda pair: pair[0])
    taken = tuple(track for _, track in (fitting if wanted.all_tracks else fitting[:1]))
    if not taken and any(rank == NO_ADDRESS for rank, _ in ranked):
        raise LayoutChanged("a caption track without an address")
    if not taken:
        raise NoTranscriptInLanguage(f"{_asked(wanted)}; there are: {describe(tracks)}")
    left: list[tuple[Track, str]] = []
    chosen = {track.track_id for track in taken}
    for rank, track in ranked:
        if track.track_id not in chosen:
            left.append((track, rank if isinstance(rank, str) else ANOTHER_PREFERRED))
    translated: list[tuple[Track, str]] = []
    for code in wanted.translate:
        source = next((track for track in taken if _can_become(track, code, translations)), None)
        if source is not None:
            translated.append((source, code))
        elif fit(code, taken[0].language) is None:
            left.append((taken[0], f"{NOT_TRANSLATABLE}:{code}"))
    return Choice(taken, tuple(translated), tuple(left))


def describe(tracks: tuple[Track, ...]) -> str:
    """What exists, for people: ``en (manual), en (asr)``."""
    named = [f"{track.language} ({track.kind})" for track in tracks]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more


def why_not(choice: Choice) -> str:
    """Why the other tracks are not taken, for people: ``another is preferred: en (asr)``. Nothing if all are."""
    by_reason: dict[str, list[Track]] = {}
    for track, reason in choice.left_out:
        word, _, into = reason.partition(":")
        by_reason.setdefault(_WORDS[word] + (f" into {into}" if into else ""), []).append(track)
    return "; ".join(f"{reason}: {describe(tuple(tracks))}" for reason, tracks in by_reason.items())


def _rank(track: Track, wanted: Wanted, known: bool) -> tuple[int, ...] | str:
    """Smaller is better; a word says why a track is out. Language counts before kind, plain before named."""
    if track.kind not in wanted.kinds:
        return OTHER_KIND
    kind = wanted.kinds.index(track.kind)
    foreign = known and not track.is_own
    named = track.track_id.count(".") > 1
    if not wanted.languages:
        if foreign and not wanted.all_tracks:
            return OTHER_LANGUAGE
        return (int(foreign), kind, int(named)) if track.url else NO_ADDRESS
    for place, code in enumerate(wanted.languages):
        how = fit(code, track.language)
        if how is not None:
            return (place, int(foreign and code == ANY), how, kind, int(named)) if track.url else NO_ADDRESS
    return OTHER_LANGUAGE


def _can_become(track: Track, code: str, translations: tuple[str, ...]) -> bool:
    if not track.translatable or fit(code, track.language) is not None:
        return False
    return not translations or any(fit(code, offered) is not None for offered in translations)


def _asked(wanted: Wanted) -> str:
    languages = ", ".join(wanted.languages) or "the video's own language"
    return f"asked for {languages} ({' or '.join(wanted.kinds)})"


def _listed(text: str | None) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))


def _language(name: str, code: str) -> str:
    if code == ANY or (is_code(code) and code.lower() not in _NAMES):
        return code
    spelled = code.replace("_", "-")
    near = difflib.get_close_matches(code.lower(), _NAMES, n=1)
    better = spelled if is_code(spelled) and code != spelled else _NAMES[near[0]] if near else None
    hint = f"Did you mean {better}?" if better else "Codes look like en, zh-Hans or *"
    raise SettingInvalid(f"-a {name}={code}: no language code. {hint}")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        near = difflib.get_close_matches(value.lower(), [*allowed, *_ALIASES], n=1)
        better = _ALIASES.get(near[0], near[0]) if near else None
        hint = f"Did you mean {better}?" if better in allowed else f"There are: {', '.join(allowed)}"
        raise SettingInvalid(f"-a {name}={value}: no such choice. {hint}")
    return value
