"""Changes that sites, networks and enemies make: bytes lost and flipped, JSON with other types in its places."""

from __future__ import annotations

import json
import random
from typing import Any

HEAD = 2
"""The first bytes of an input choose what is asked; see ``targets``."""
_HUGE = (2**63, 2**64, -(2**63) - 1, 10**19, 10**40, 1e308, -0.0, 1e-320)
_RAW = (
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"1" * 5000,
    b"-" + b"9" * 400,
    b'"\\ud83d"',
    b'"\\u0000"',
    b"[" * 300 + b"]" * 300,
)
"""What `json.dumps` would not write: put in as it is."""
_TEXTS = (
    "", "x", "0", "-1", "9" * 19, "9" * 30, "1,234", "1.2K", "1e400", "\x00", "\ud83d", "\u202e", "\r\nX: y", "../../x",
    "https://127.0.0.1/timedtext", "https://evil.youtube.com/api/timedtext?v=1", "//evil.example/x", "https://[::1",
    "https://u@www.youtube.com/api/timedtext", "//i0.hdslb.com:99/x", "javascript:alert(1)", "=1+1", "<script>",
)  # fmt: skip
_MARK = "@@raw@@"


def junk(rng: random.Random) -> Any:
    """A value of any type."""
    return rng.choice(
        (None, True, False, 0, -1, 1.5, [], {}, [[]], [None, 1, "x"], {"runs": 3}, {"runs": [{"text": 4}, None]},
         {"simpleText": []}, rng.choice(_HUGE), rng.choice(_TEXTS), rng.randint(-(2**70), 2**70),
         _MARK + str(rng.randrange(len(_RAW))))
    )  # fmt: skip


def _places(node: Any, found: list[tuple[Any, Any]], most: int = 4000) -> list[tuple[Any, Any]]:
    waiting = [node]
    while waiting and len(found) < most:
        inner = waiting.pop()
        keys = inner if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        for key in keys:
            found.append((inner, key))
            waiting.append(inner[key])
    return found


def _change(rng: random.Random, node: Any) -> None:
    places = _places(node, [])
    if not places:
        return
    inner, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del inner[key]
        case 1 if isinstance(inner, list):
            inner.extend([inner[key]] * rng.randint(1, 30))
        case 2:
            other, there = rng.choice(places)
            if isinstance(inner, dict) or isinstance(key, int):
                value = other.get(there) if isinstance(other, dict) else other[there] if there < len(other) else None
                inner[key] = json.loads(json.dumps(value)) if value is not inner else None
        case 3 if isinstance(inner, dict):
            inner[rng.choice(("x", str(key).upper(), "", "runs", "id"))] = inner.pop(key)
        case _:
            inner[key] = junk(rng)


def mutate_tree(rng: random.Random, body: bytes) -> bytes | None:
    """A JSON body with other things in its places; ``None`` if it is no JSON."""
    try:
        node = json.loads(body.removeprefix(b")]}'"))
    except (ValueError, RecursionError):
        return None
    for _ in range(rng.randint(1, 4)):
        try:
            _change(rng, node)
        except (IndexError, KeyError, RecursionError):
            continue
    text = json.dumps(node).encode()
    for number, raw in enumerate(_RAW):
        text = text.replace(f'"{_MARK}{number}"'.encode(), raw)
    return text


def mutate_bytes(rng: random.Random, body: bytes) -> bytes:
    """Bytes lost, flipped, doubled, put elsewhere."""
    data = bytearray(body)
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(7):
            case 0:
                del data[at:]
            case 1:
                del data[at : at + rng.randint(1, 40)]
            case 2 if data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            case 3:
                data[at:at] = rng.randbytes(rng.randint(1, 8))
            case 4:
                piece = data[at : at + rng.randint(1, 60)]
                data[at:at] = piece * rng.randint(1, 20)
            case 5:
                data[at:at] = rng.choice(_RAW)
            case _:
                data[at:at] = rng.choice(_TEXTS).encode("utf-8", "surrogatepass")
    return bytes(data)


def mutate(rng: random.Random, data: bytes) -> bytes:
    """One changed input. Trees are changed as trees most of the time, since bytes seldom reach beyond the decoder."""
    head, body = data[:HEAD], data[HEAD:]
    if rng.random() < 0.05:
        head = rng.randbytes(HEAD)
    if body.lstrip()[:1] in (b"{", b"[") and rng.random() < 0.8:
        changed = mutate_tree(rng, body)
        if changed is not None:
            return head + changed
    return head + mutate_bytes(rng, body)
