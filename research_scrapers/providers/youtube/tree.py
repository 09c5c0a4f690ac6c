"""Digging in YouTube's answers: what every site's answers need, and the site's own label objects."""

from __future__ import annotations

from typing import Any

from research_scrapers.providers.tree import decode, decode_object, dict_at, dig, int_at, list_at, str_at


def label(node: Any) -> str | None:
    """The text of one of the site's label objects: ``simpleText``, ``runs`` or ``content``."""
    if type(node) is str:
        return node
    if type(node) is not dict:
        return None
    for key in ("simpleText", "content"):
        if type(node.get(key)) is str:
            return str(node[key])
    runs = node.get("runs")
    if type(runs) is not list:
        return None
    return "".join(run["text"] for run in runs if type(run) is dict and type(run.get("text")) is str)


def label_at(node: Any, *path: str | int) -> str | None:
    """The text of the label object at the path."""
    return label(dig(node, *path))


__all__ = ["decode", "decode_object", "dict_at", "dig", "int_at", "label", "label_at", "list_at", "str_at"]
