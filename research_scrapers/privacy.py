"""Who somebody is, hidden before anything is written: ``keep``, ``pseudonymise`` or ``drop``.

A pseudonym is a keyed HMAC. The key lies in a file of its own, never in a database, and each project (a database) has a
key derived from it, so that the same person has different pseudonyms in different projects. Who has the data but not
the key can neither undo a pseudonym nor check a guess, and nobody can follow a person from project to project.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from research_scrapers.errors import SettingInvalid
from research_scrapers.models import Comment, Danmaku, Transcript, Video

POLICIES = ("keep", "pseudonymise", "drop")
GONE = "…"
KEY_FILE = "RESEARCH_PRIVACY_KEY"
"""The environment variable that names the key file."""
PERSONAL = frozenset({"owner"})
"""What a page tells later requests of its video, and names somebody."""
_DIGITS = 20
_NAME = r"[\w.\-·\u200d\ufe0f]"
_MENTION = re.compile(rf"[@＠]({_NAME}+)")
_SIMPLE = re.compile(f"{_NAME}+")
_CHANNEL = re.compile(r"(?<![\w-])UC[\w-]{22}(?![\w-])", re.ASCII)
_SPACE = re.compile(r"(?<=space\.bilibili\.com/)\d+", re.ASCII)
_SHARED_BY = re.compile(r"(?<=[?&])(ab_channel|mid|share_from_uid|vd_source|up_id)=[^&#\s]*", re.I)
"""What a copied link tells of its channel, or of the person who copied it."""
_HARMLESS = frozenset({
    "like_count_text", "like_count_approximate", "reply_count_approximate", "reply_level", "verified", "artist",
    "heart_unknown", "caption_tracks", "track_id", "lan", "cid", "version", "route", "format", "source_language",
    "likes", "source", "sources", "updated_at", "created_at", "category", "category_id", "parts", "aid", "stat",
    "copyright", "state", "is_interactive", "branches", "answered_by_uploader", "is_folded", "is_invisible",
    "count_with_deleted", "dialog", "emotes", "level", "attr", "xml_weight",
})  # fmt: skip
"""What may stay of `extras`. Whatever a provider adds is dropped until it is found to name nobody."""


def key_path() -> Path:
    """Where the key lies: RESEARCH_PRIVACY_KEY, or the person's own configuration folder."""
    named = os.environ.get(KEY_FILE)
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Path(named) if named else home / "research-scrapers" / "privacy.key"


def project_key(project: str, path: Path | None = None) -> bytes:
    """The key of one project. The first call makes the key file, readable by its owner only."""
    path = path or key_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(secrets.token_hex(32) + "\n")
        except FileExistsError:
            pass
        master = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise SettingInvalid(f"{KEY_FILE}={path}: {error.strerror}") from error
    except ValueError:
        raise SettingInvalid(f"{KEY_FILE}={path}: this is not a key that research-scrapers made") from None
    if len(master) < 32:
        raise SettingInvalid(f"{KEY_FILE}={path}: the key is too short")
    return hmac.digest(master, f"project:{project}".encode(), "sha256")


def key_check(key: bytes) -> str:
    """By which a database knows its key again without knowing it."""
    return hmac.new(key, b"check", hashlib.sha256).hexdigest()[:16]


class Veil:
    """One policy with one key, over every kind of record."""

    def __init__(self, policy: str, key: bytes = b"") -> None:
        if policy not in POLICIES:
            raise SettingInvalid(f"PRIVACY={policy}: there are {', '.join(POLICIES)}")
        if policy == "pseudonymise" and not key:
            raise SettingInvalid("pseudonyms need a key")
        self.policy = policy
        self._key = key

    @property
    def keeps(self) -> bool:
        """Whether nothing is hidden at all."""
        return self.policy == "keep"

    def _token(self, sort: str, value: str) -> str:
        told = f"{sort}:{value}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, told, hashlib.sha256).hexdigest()[:_DIGITS]

    def id(self, value: str | None) -> str | None:
        """A person's id."""
        return self._hidden(value, lambda told: f"p_{self._token('id', told)}")

    def hash(self, value: str | None) -> str | None:
        """A site's own weak hash of a person's id."""
        return self._hidden(value, lambda told: f"h_{self._token('hash', told)}")

    def name(self, value: str | None) -> str | None:
        """A shown name. A handle and the mention of it get the same pseudonym."""
        return self._hidden(value, self._name)

    def _name(self, value: str) -> str:
        bare = value.lstrip("@＠").strip().casefold()
        return f"{'@' if value.startswith(('@', '＠')) else ''}u_{self._token('name', bare)}"

    def _hidden(self, value: str | None, made: Callable[[str], str]) -> str | None:
        if value is None or value == "" or self.keeps:
            return value
        return made(value) if self.policy == "pseudonymise" else None

    def text(self, value: str, names: Collection[str] = ()) -> str:
        """A text without mentions. ``names`` are people who are known to be around, for names with blanks in them."""
        if self.keeps:
            return value
        for name in sorted({name.lstrip("@＠") for name in names}, key=len, reverse=True):
            if name and not _SIMPLE.fullmatch(name):
                value = re.sub(f"[@＠]{re.escape(name)}", lambda found: self._mention(found[0]), value, flags=re.I)
        value = _MENTION.sub(lambda found: self._mention(found[0]), value)
        if self.policy == "drop":
            return _SPACE.sub(GONE, _CHANNEL.sub(GONE, value))
        value = _CHANNEL.sub(lambda found: str(self.id(found[0])), value)
        return _SPACE.sub(lambda found: str(self.id(found[0])), value)

    def link(self, value: str) -> str:
        """A line of a links file as it was typed."""
        return value if self.keeps else _SHARED_BY.sub(rf"\1={GONE}", self.text(value))

    def _mention(self, mention: str) -> str:
        if self.policy == "drop":
            return f"@{GONE}"
        bare = mention.rstrip(".-·")  # a full stop after a name is not part of it
        if re.fullmatch(rf"@u_[0-9a-f]{{{_DIGITS}}}", bare):
            return mention  # hidden already
        return f"{self._name(f'@{bare[1:]}')}{mention[len(bare) :]}" if len(bare) > 1 else mention

    def extras(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """What names nobody."""
        if self.keeps:
            return dict(value)
        # Why somebody is verified can say who it is; that they are, does not.
        return {name: name == "verified" or self._told(told) for name, told in value.items() if name in _HARMLESS}

    def _told(self, value: Any) -> Any:
        """A harmless value may still hold a text that mentions somebody: the title of a part."""
        if isinstance(value, dict):
            return {name: self._told(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._told(one) for one in value]
        return self.text(value) if isinstance(value, str) else value

    def digest(self, value: str) -> str:
        """A content hash that cannot be used to check a guess."""
        return value if self.keeps else self._token("content", value) if self._key else value

    def comment(self, one: Comment, names: Collection[str] = ()) -> Comment:
        return replace(
            one, text=self.text(one.text, names), author_id=self.id(one.author_id),
            author_name=self.name(one.author_name), extras=self.extras(one.extras),
            content_hash=self.digest(one.content_hash),
        )  # fmt: skip

    def danmaku(self, one: Danmaku) -> Danmaku:
        return replace(
            one, text=self.text(one.text), author_hash=self.hash(one.author_hash), extras=self.extras(one.extras),
            content_hash=self.digest(one.content_hash),
        )  # fmt: skip

    def transcript(self, one: Transcript) -> Transcript:
        segments = [
            replace(
                line, text=self.text(line.text),
                words=None if line.words is None else [(at, self.text(word)) for at, word in line.words],
            )
            for line in one.segments
        ]  # fmt: skip
        if segments == one.segments:
            return replace(one, name=self.text(one.name))
        return replace(one, name=self.text(one.name), segments=segments, content_hash=self.digest(one.content_hash))

    def video(self, one: Video) -> Video:
        return replace(
            one, title=None if one.title is None else self.text(one.title), channel_id=self.id(one.channel_id),
            channel_name=self.name(one.channel_name), extras=self.extras(one.extras),
        )  # fmt: skip

    def records(self, records: Iterable[Comment | Transcript | Danmaku]) -> tuple[Comment | Transcript | Danmaku, ...]:
        """Every record of a page. A transcript has no author to hide, but its lines can mention somebody."""
        told = tuple(records)
        names = {one.author_name for one in told if isinstance(one, Comment) and one.author_name}
        mentions = (who for one in told if isinstance(one, Comment) for who in one.extras.get("mentions") or ())
        names |= {who["name"] for who in mentions if isinstance(who, dict) and who.get("name")}
        return tuple(
            self.comment(one, names) if isinstance(one, Comment)
            else self.danmaku(one) if isinstance(one, Danmaku) else self.transcript(one)
            for one in told
        )  # fmt: skip

    def cell(self, sort: str, value: Any, names: Collection[str] = ()) -> Any:
        """One stored value, by what it can tell (`store.columns.Column.person`)."""
        if value is None or not sort or self.keeps:
            return value
        if sort == "text":
            return self.text(value, names)
        if sort == "extras":
            return json.dumps(self.extras(json.loads(value)), ensure_ascii=False)
        if sort == "link":
            return None
        return {"id": self.id, "name": self.name, "hash": self.hash}[sort](value)
