"""One danmaku, from the protobuf message or from the XML pool: the same danmaku gives the same record content.

Measured on recordings of the same part in both forms: the XML's seconds times 1000, rounded, are the milliseconds;
text, mode, colour, size, pool, sender and time agree; the two weights do not, so the XML's has a name of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from research_scrapers.errors import LayoutChanged, WrongVideo
from research_scrapers.models import Danmaku, content_hash
from research_scrapers.providers.bilibili.times import exact
from research_scrapers.providers.tree import LARGEST

if TYPE_CHECKING:
    from research_scrapers.providers.bilibili.danmaku_xml import Element, Pool

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LONGEST = 10**11
"""Three years in milliseconds. No video is longer; nonsense is."""


@dataclass(frozen=True, slots=True)
class Strip:
    """What is the same for all danmaku of an answer."""

    video_id: str
    part: int
    cid: str
    source: str
    fetched_at: str

    def build(
        self, name: str, progress_ms: int, text: str, *, mode: int, color: int, size: int, pool: int,
        weight: int | None, sent: int, author: str, extras: dict[str, Any],
    ) -> Danmaku:  # fmt: skip
        """One record. Its content is what a viewer sees, where and when."""
        text = _CONTROL.sub("", text)
        return Danmaku(
            provider="bilibili",
            video_id=self.video_id,
            part=self.part,
            cid=self.cid,
            danmaku_id=name,
            progress_ms=progress_ms,
            text=text,
            mode=mode,
            color=color,
            font_size=size,
            pool=pool,
            weight=weight,
            sent_at=exact(sent),
            author_hash=author or None,
            content_hash=content_hash(text, str(progress_ms), str(mode), str(color), str(size)),
            fetched_at=self.fetched_at,
            extras={"source": self.source, **{key: value for key, value in extras.items() if value}},
        )


def of_message(elems: Any, strip: Strip) -> tuple[Danmaku, ...]:
    """The danmaku of a segment."""
    found = {}
    for one in elems:
        if one.oid and str(one.oid) != strip.cid:
            raise WrongVideo(f"danmaku of {one.oid} where {strip.cid} was asked for")
        name = _text(one.id_str) or str(one.id)
        if name == "0":
            raise LayoutChanged("a danmaku without an id")
        extras = {
            "likes": one.likes,
            "action": _text(one.action),
            "attr": one.attr,
            "animation": _text(one.animation),
            "colorful": one.colorful,
        }
        found[name] = strip.build(
            name, one.progress, _text(one.content), mode=one.mode, color=one.color, size=one.fontsize, pool=one.pool,
            weight=one.weight, sent=one.ctime, author=_text(one.mid_hash), extras=extras,
        )  # fmt: skip
    return tuple(found.values())


def of_pool(pool: Pool, strip: Strip) -> tuple[Danmaku, ...]:
    """The danmaku of the XML file."""
    if pool.cid not in (None, strip.cid):
        raise WrongVideo(f"danmaku of {pool.cid} where {strip.cid} was asked for")
    found = {record.danmaku_id: record for element in pool.elements if (record := _of_element(element, strip))}
    return tuple(found.values())


def _of_element(element: Element, strip: Strip) -> Danmaku | None:
    """Eight fields before 2021, nine since: the ninth is a weight."""
    fields = element.fields
    if len(fields) < 8:
        raise LayoutChanged(f"a danmaku of {len(fields)} fields")
    try:
        progress = round(Decimal(fields[0]) * 1000)
        mode, size, color, sent, pool = (int(field) for field in fields[1:6])
        name, weight = str(int(fields[7])), int(fields[8]) if len(fields) > 8 and fields[8] else None
    except (ValueError, ArithmeticError):
        raise LayoutChanged("a danmaku whose fields are no numbers") from None
    if any(abs(number) > LARGEST for number in (mode, size, color, sent, pool)):
        raise LayoutChanged("a danmaku with an impossible number")
    if not -_LONGEST < progress < _LONGEST:
        raise LayoutChanged("a danmaku at an impossible moment")
    return strip.build(
        name, progress, element.text, mode=mode, color=color, size=size, pool=pool, weight=None, sent=sent,
        author=fields[6], extras={"xml_weight": weight},
    )  # fmt: skip


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
