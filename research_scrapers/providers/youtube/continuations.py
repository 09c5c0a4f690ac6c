"""Page tokens: the many places in which the site hides the way to the next page."""

from __future__ import annotations

from typing import Any

from research_scrapers.providers.youtube.tree import dict_at, dig, list_at, str_at


def item_token(item: Any) -> str | None:
    """Token of a list item that stands for the rest of the list, or ``None`` if the item is something else."""
    renderer = dig(item, "continuationItemRenderer")
    if type(renderer) is dict:
        return (
            command_token(renderer.get("continuationEndpoint"))
            or command_token(dig(renderer, "button", "buttonRenderer", "command"))
            or command_token(dig(renderer, "button", "buttonViewModel", "onTap", "innertubeCommand"))
        )
    model = dig(item, "continuationItemViewModel")
    if type(model) is dict:
        return command_token(dig(model, "continuationCommand", "innertubeCommand")) or command_token(model)
    return None


def command_token(command: Any) -> str | None:
    """Token of a command, which may be wrapped together with others."""
    found = str_at(command, "continuationCommand", "token")
    if found:
        return found
    for inner in list_at(command, "commandExecutorCommand", "commands"):
        found = str_at(inner, "continuationCommand", "token")
        if found:
            return found
    return None


def legacy_token(renderer: Any) -> str | None:
    """Token of a renderer that carries its continuations beside its contents (TV client, pages before 2021)."""
    for holder in list_at(renderer, "continuations"):
        for kind in ("nextContinuationData", "reloadContinuationData"):
            found = str_at(holder, kind, "continuation")
            if found:
                return found
    return None


def section_token(section: Any) -> str | None:
    """Token of a section whose contents are still to be fetched."""
    for item in list_at(section, "contents"):
        found = item_token(item)
        if found:
            return found
    return legacy_token(section)


def sort_items(menu: Any) -> list[tuple[str, str | None, bool]]:
    """(title, token, selected) of a sort menu. Position tells the order: 0 is Top, 1 is Newest, in every language."""
    return [
        (
            str_at(item, "title") or "",
            command_token(dict_at(item, "serviceEndpoint"))
            or str_at(item, "continuation", "reloadContinuationData", "continuation"),
            dig(item, "selected") is True,
        )
        for item in list_at(menu, "sortFilterSubMenuRenderer", "subMenuItems")
    ]
