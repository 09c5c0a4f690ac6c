"""What a comment says, out of both generations of rich text, with the styles, links and emojis that text alone loses.

Positions count UTF-16 code units, as the site counts them.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from research_scrapers.providers.youtube.tree import dict_at, dig, int_at, label_at, list_at, str_at

_PLAIN_EMOJI = "/emoji/"
"""Unicode emojis are drawn with pictures from this path; every other picture inside a text is a channel's own emoji."""


def runs_text(node: Any) -> tuple[str | None, dict[str, Any]]:
    """Text and extras of the older generation (``runs``). Text is ``None`` if there is none to be found."""
    if type(node) is not dict:
        return None, {}
    if type(node.get("simpleText")) is str:
        return node["simpleText"], {}
    if type(node.get("runs")) is not list:
        # An empty text has an object without runs; anything else in there is a shape that we do not know.
        return (None if node else ""), {}
    pieces: list[str] = []
    styles: list[dict[str, Any]] = []
    links: list[str] = []
    emojis: list[str] = []
    position = 0
    for run in node["runs"]:
        piece = _run_text(run)
        length = len(piece) if piece.isascii() else len(piece.encode("utf-16-le", "surrogatepass")) // 2
        if type(run) is dict and len(run) > 1:
            _note_style(styles, position, length, run.get("bold"), run.get("italics"), run.get("strikethrough"))
            _note_link(links, dig(run, "navigationEndpoint"))
            if dig(run, "emoji", "isCustomEmoji") and (url := str_at(run, "emoji", "image", "thumbnails", 0, "url")):
                emojis.append(url)
        pieces.append(piece)
        position += length
    return "".join(pieces), _extras(styles, links, emojis)


def _run_text(run: Any) -> str:
    emoji = dict_at(run, "emoji")
    if emoji and (emoji.get("isCustomEmoji") or not str_at(run, "text")):
        return str_at(emoji, "shortcuts", 0) or str_at(run, "text") or str_at(emoji, "emojiId") or ""
    return str_at(run, "text") or ""


def attributed_text(node: Any) -> tuple[str | None, dict[str, Any]]:
    """Text and extras of the newer generation (``content`` with runs beside it)."""
    if type(node) is not dict:
        return None, {}
    text = node.get("content", "")
    if type(text) is not str:
        return None, {}
    if len(node) == 1:
        return text, {}
    styles: list[dict[str, Any]] = []
    links: list[str] = []
    emojis: list[str] = []
    for run in list_at(node, "styleRuns"):
        bold = dig(run, "weightLabel") in ("FONT_WEIGHT_MEDIUM", "FONT_WEIGHT_BOLD")
        start, length = int_at(run, "startIndex") or 0, int_at(run, "length") or 0
        _note_style(styles, start, length, bold, dig(run, "italic"), dig(run, "strikethrough"))
    for run in list_at(node, "commandRuns"):
        _note_link(links, dig(run, "onTap", "innertubeCommand"))
    for run in list_at(node, "attachmentRuns"):
        url = str_at(run, "element", "type", "imageType", "image", "sources", 0, "url")
        if url and _PLAIN_EMOJI not in url:
            emojis.append(url)
    return text, _extras(styles, links, emojis)


def voice_reply(surface: Any) -> dict[str, Any] | None:
    """What a spoken reply leaves in writing: its transcript, or the notice that it cannot be played here."""
    node = dig(surface, "voiceReplyContainerViewModel")
    if type(node) is not dict:
        return None
    inner = dict_at(node, "voiceReplyContainerViewModel") or node
    return {
        name: text
        for name, key in (("transcript", "transcriptText"), ("notice", "voiceReplyUnavailableText"))
        if (text := label_at(inner, key))
    }


def _note_style(styles: list[dict[str, Any]], start: int, length: int, bold: Any, italic: Any, struck: Any) -> None:
    named = {name: True for name, on in (("bold", bold), ("italic", italic), ("strikethrough", struck)) if on}
    if named:
        styles.append({"start": start, "length": length, **named})


def _note_link(links: list[str], command: Any) -> None:
    """The page shortens long addresses in the text; the command behind it has the whole of it."""
    url = str_at(command, "urlEndpoint", "url")
    if url is None:
        return
    try:
        parts = urlsplit(url)
        if parts.path == "/redirect" and (target := parse_qs(parts.query).get("q")):
            url = target[0]
    except ValueError:
        pass  # kept as it is: an address that cannot be taken apart is still what the comment links to
    links.append(url)


def _extras(styles: list[dict[str, Any]], links: list[str], emojis: list[str]) -> dict[str, Any]:
    named = (("style_runs", styles), ("links", links), ("custom_emojis", emojis))
    return {name: found for name, found in named if found}
