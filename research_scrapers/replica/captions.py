"""Caption tracks of a video, computed from the seed like its comments.

The texts are the ones that break readers: HTML's special characters, words in angle brackets,
speaker and music marks, line breaks, emoji, CJK and right-to-left scripts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .identity import chars, digest
from .languages import RTL, UNSPACED, name_of
from .model import Segment, Traits
from .texts import sentence

_LATIN = {
    "de": "und wieder brannte die kleine Lampe über dem ruhigen Fluss während niemand das Funkgerät hörte größer für",
    "es": "y otra vez la lámpara pequeña ardía sobre el río tranquilo mientras nadie oía la señal mañana también",
    "fr": "et la petite lampe brûlait encore près du fleuve calme où personne n'entendait le signal déjà là-bas",
}
_OTHER = {
    "ja": "静かな川のそばで小さなランプがまだ燃えていました",
    "zh": "安静的河边小灯还亮着没有人听到信号",
    "ko": "조용한 강가에서 작은 등불이 아직 켜져 있었습니다",
    "ar": "كان المصباح الصغير لا يزال مضاء بجانب النهر الهادئ ولم يسمع أحد الإشارة",
    "iw": "המנורה הקטנה עדיין דלקה ליד הנהר השקט ואיש לא שמע את האות",
    "ru": "маленькая лампа всё ещё горела у тихой реки и никто не слышал сигнала",
    "hi": "शांत नदी के पास छोटा दीपक अब भी जल रहा था",
}
_HARD = (
    'Q&A: is 1 < 2 && 3 > 2? "Yes", it\'s so',
    "she typed &amp; and &#39; and &lt;b&gt; as they are",
    "<laughs> well <i>almost</i> nothing",
    "a --> b, 100 % sure; {\\an8} stays",
    "smile 😀 family 👩‍👩‍👧 flag 🇪🇺 end",
    "日本語 and עברית (mixed) عربي in one line",
    "tail of </text></p></transcript> is only text",
)
_MARKS = ("[Music]", "[Applause]", "♪ la la la ♪", "(door creaks)")
_SPEAKERS = ("ANNA", "DR. LEE", "SPEAKER 2")
_ASR_WORDS = ("it's", "R&D", "we're", "AT&T")
# Named tracks are drawn too, and a second track of the same language.
_DRAWN: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("en", "asr"),),
    (("en", "manual"), ("en", "asr")),
    (("en", "manual"), ("de", "manual", "Untertitel"), ("de", "manual"), ("en", "asr")),
    (("es", "manual"), ("es", "asr"), ("en", "manual")),
    (("ja", "manual"), ("ja", "asr"), ("ko", "manual"), ("zh-Hans", "manual")),
    (("ar", "manual"), ("iw", "manual"), ("en-GB", "manual"), ("en", "asr")),
    (("de", "manual", "deutsch"),),
)


def track_id(video_id: str, language: str, kind: str, name: str) -> str:
    """The vssId: `.en`, `a.en`, or `.de.<11 characters>` for a track with a name."""
    if kind == "asr":
        return f"a.{language}"
    return f".{language}.{chars(digest('track', video_id, language, name, size=9), 11)}" if name else f".{language}"


@dataclass(frozen=True, slots=True)
class Track:
    video_id: str
    language: str
    kind: str  # "manual" or "asr"
    name: str = ""

    @property
    def id(self) -> str:
        return track_id(self.video_id, self.language, self.kind, self.name)

    @property
    def asr(self) -> bool:
        return self.kind == "asr"

    @property
    def title(self) -> str:
        title = name_of(self.language)
        if self.asr:
            return f"{title} (auto-generated)"
        return f"{title} - {self.name}" if self.name else title


def translate(text: str, language: str, own: str = "") -> str:
    """An invented translation that can be told from the original. Into the track's own language
    it comes out damaged, as on the real site.
    """
    if language == own:
        return text[: len(text) // 2]
    return f"«{language}» {text}"


class Captions:
    """The tracks of one video and what tests changed about them."""

    def __init__(self, seed: int, video_id: str, traits: Traits) -> None:
        self._seed, self._video_id, self._traits = seed, video_id, traits
        self._texts: dict[tuple[str, int], str] = {}
        drawn = traits.tracks
        if drawn is None:
            raw = digest("tracks", seed, video_id, size=2)
            drawn = () if raw[0] < 26 else _DRAWN[raw[1] % len(_DRAWN)]
        self.set_tracks(drawn)

    def set_tracks(self, entries: Iterable[Iterable[str]]) -> list[str]:
        """In the order of the wire: by the language's name, automatic after manual."""
        made: list[Track] = []
        for entry in entries:
            language, kind, name = (*entry, "")[:3]
            if kind not in ("manual", "asr") or (kind == "asr" and name):
                raise ValueError(f"no such track: {(language, kind, name)}")
            made.append(Track(self._video_id, language, kind, name))
        self.tracks = tuple(sorted(made, key=lambda track: (name_of(track.language), track.asr, track.name)))
        if len({track.id for track in made}) != len(made):
            raise ValueError("two tracks with one id")
        return [track.id for track in self.tracks]

    def find(self, wanted: str) -> Track | None:
        return next((track for track in self.tracks if track.id == wanted), None)

    def default(self) -> Track | None:
        """In the language that is spoken, made by hand if possible."""
        if not self.tracks:
            return None
        spoken = next((track.language for track in self.tracks if track.asr), self.tracks[0].language)
        own = [track for track in self.tracks if track.language == spoken]
        return min(own, key=lambda track: (track.asr, track.name != ""))

    def set_text(self, wanted: str, number: int, text: str) -> None:
        track = self.find(wanted)
        if track is None or not 0 <= number < self._traits.caption_segments:
            raise KeyError(f"no segment {number} in track {wanted} of video {self._video_id}")
        self._texts[wanted, number] = text

    def segments(self, track: Track, *, blanks: bool = False) -> list[Segment]:
        """The lines of a track; `blanks` adds the ones without text that only the wire has."""
        numbers = range(self._traits.caption_segments)
        if track.asr:
            return self._automatic(track, numbers)
        made: list[Segment] = []
        at = 400
        for number in numbers:
            raw = digest("line", self._seed, self._video_id, track.id, number)
            if blanks and self._traits.blank_segments and number % 9 == 0:
                made.append(Segment(at - 300, 200, " "))
            duration = 1_200 + int.from_bytes(raw[:2]) % 3_300
            text = self._texts.get((track.id, number)) or _manual_text(raw, track.language, number)
            silent = self._traits.missing_durations and number % 7 == 3
            made.append(Segment(at, 0 if silent else duration, text))
            # Often the next line begins at the very moment at which this one ends.
            at += duration + (0 if raw[2] < 90 else 320 + raw[3] * 7)
        return made

    def _automatic(self, track: Track, numbers: range) -> list[Segment]:
        """Two lines are on the screen at a time: a line stays until the next but one begins, or 4 s."""
        lines: list[tuple[int, int, str, tuple[tuple[int, str], ...]]] = []
        at = 160
        for number in numbers:
            raw = digest("asr", self._seed, self._video_id, track.language, number)
            pieces = self._pieces(track, number, raw)
            words, offset = [], 0
            for place, piece in enumerate(pieces):
                words.append((offset, piece))
                offset += 120 + raw[place % 32] * 2
            spoken = offset + (1_500 if len(pieces) == 1 else 40)
            text = "".join(pieces)
            lines.append((at, at + spoken, text, tuple(words)))
            pause = 6_000 if number % 10 == 9 else 1_000  # after the long one the screen is empty
            at += spoken + (10 if raw[3] < 128 and number % 10 < 9 else pause + raw[4] * 9)
        made: list[Segment] = []
        for place, (start, spoken_until, text, timed) in enumerate(lines):
            later = lines[place + 2][0] if place + 2 < len(lines) else spoken_until + 2_000
            made.append(Segment(start, min(later, spoken_until + 4_000) - start, text, timed))
        return made

    def _pieces(self, track: Track, number: int, raw: bytes) -> list[str]:
        changed = self._texts.get((track.id, number))
        if changed is not None:
            first, *rest = changed.split(" ")
            return [first, *(f" {word}" for word in rest)]
        if number % 11 == 5:
            return [_MARKS[raw[5] % 2]]
        if track.language in UNSPACED:
            return list(_plain(raw, track.language, 9))
        words = _plain(raw, track.language, 5 + raw[6] % 4).split(" ")
        if raw[7] < 60:
            words[-1] = _ASR_WORDS[raw[8] % 4]
        if number % 13 == 8:
            words.insert(0, ">>")
        return [words[0], *(f" {word}" for word in words[1:])]


def _plain(raw: bytes, language: str, length: int) -> str:
    base = language.partition("-")[0]
    if language in UNSPACED:
        source = _OTHER["ja" if base == "ja" else "zh"]
        return "".join(source[(raw[i % 32] + i) % len(source)] for i in range(length))
    phrase = _LATIN.get(base) or _OTHER.get(base)
    if phrase is None:
        return sentence(raw, length)
    words = phrase.split()
    return " ".join(words[(raw[i % 32] * 7 + i * 3) % len(words)] for i in range(length))


def _manual_text(raw: bytes, language: str, number: int) -> str:
    """Every kind of text occurs within the first three dozen lines."""
    plain = _plain(raw, language, 4 + raw[9] % 7)
    match number % 12:
        case 1 | 7:
            return f"{plain}\n{_plain(raw[8:] + raw[:8], language, 6)}"
        case 2 | 8 | 10:
            return _HARD[(number // 12 * 3 + (2, 8, 10).index(number % 12)) % len(_HARD)]
        case 3:
            return _MARKS[raw[10] % 4]
        case 4:
            return f">> {_SPEAKERS[raw[10] % 3]}: {plain}"
        case 5:
            return f"- {plain}?\n- [Music] {_HARD[raw[10] % len(_HARD)]}"
    return f"{plain} {raw[11]}" if language in RTL else plain
