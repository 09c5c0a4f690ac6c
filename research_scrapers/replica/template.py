"""JSON shapes compiled once into format strings, because pages must be cheap to make.

A shape is ordinary Python data. Inside it
  "…§name§…"    puts text into a string (the value must need no escaping),
  "§!name§"     puts a finished JSON value in place of the whole string,
  "§+name": 0   puts optional members, written with a leading comma, after the one before.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring
from typing import Any

# Text to a JSON string in real UTF-8, as the site writes it.
quote = encode_basestring


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Template:
    def __init__(self, shape: Any, *, bare: bool = False) -> None:
        text = compact(shape).replace("%", "%%")
        if bare:  # members of a list, without its brackets
            text = text[1:-1]
        text = re.sub(r',"§\+(\w+)":0', r"%(\1)s", text)
        text = re.sub(r'"§!(\w+)§"', r"%(\1)s", text)
        text = re.sub(r"§(\w+)§", r"%(\1)s", text)
        # ASCII text is the cheapest to format and to encode, and the same JSON.
        self._format = re.sub(r"[^\x00-\x7f]", lambda hit: f"\\u{ord(hit[0]):04x}", text)

    def __call__(self, values: dict[str, Any]) -> str:
        return self._format % values


def html_safe(text: str) -> str:
    """JSON that may stand inside a script element."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def runs(*parts: str) -> dict[str, Any]:
    return {"runs": [{"text": part} for part in parts]}
