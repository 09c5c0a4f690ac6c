"""The rooms and the directions between them: imports point down only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "research_scrapers"
GROUND = {"models", "errors", "verdicts", "coverage"}
"""What every room may use."""
ALLOWED = {
    **dict.fromkeys(GROUND, GROUND),
    "knobs": set(),
    "arguments": GROUND,
    "config": GROUND | {"providers", "knobs", "arguments"},
    "formats": GROUND,
    "providers": GROUND,
    "links": GROUND | {"providers"},
    "privacy": GROUND,
    "store": GROUND | {"privacy"},
    "exports": GROUND | {"store", "formats", "privacy"},
    "items": GROUND | {"store"},
    "crawling": GROUND | {"config", "providers", "links", "store", "items", "privacy"},
    "spiders": GROUND | {"crawling", "providers", "items"},
    "control": GROUND | {"config", "arguments", "providers", "links", "store", "crawling", "spiders"},
    "reporting": GROUND | {"store"},
    "seeing": GROUND | {"config", "control", "crawling", "providers", "store", "reporting"},
    "api": GROUND | {"control", "links", "settings"},
    "commands": GROUND | {"config", "crawling"},
    "settings": {"knobs"},
    "cli": GROUND
    | {
        "control",
        "seeing",
        "reporting",
        "store",
        "crawling",
        "spiders",
        "replica",
        "links",
        "formats",
        "config",
        "knobs",
        "arguments",
        "providers",
        "exports",
        "privacy",
    },
    "replica": set(),
}
LARGEST = 400


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path):
    """Everything a module imports while it runs, as dotted names. What only the type checker reads binds nobody."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    room = room_of(path)
    if room == "__init__":
        return
    assert room in ALLOWED, f"a new room needs its place in the order: {room}"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "research_scrapers" and len(parts) > 1 and parts[1] not in ("__version__", room):
            assert parts[1] in ALLOWED[room], f"{path.relative_to(PACKAGE)} must not import {name}"


@pytest.mark.parametrize("path", [p for p in modules() if room_of(p) == "providers"], ids=lambda p: p.stem)
def test_providers_know_neither_scrapy_nor_each_other(path):
    parts = path.relative_to(PACKAGE).parts
    for name in imports(path):
        assert name.split(".")[0] not in ("scrapy", "twisted", "sqlite3", "sqlite_utils", "requests", "time", "logging")
        if name.startswith("research_scrapers.providers."):
            folder = name.split(".")[2]
            ours = len(parts) > 2 and folder == parts[1]
            assert ours or not (PACKAGE / "providers" / folder).is_dir(), f"{path} reaches into a provider: {name}"


@pytest.mark.parametrize("path", [p for p in modules() if room_of(p) not in ("store", "cli")], ids=lambda p: p.stem)
def test_only_the_store_knows_sql(path):
    if path.name == "feeds.py":  # a temporary table of its own, for lack of memory; it touches no table of the store
        return
    assert "sqlite_utils" not in path.read_text(encoding="utf-8")
    assert not any(word in path.read_text(encoding="utf-8") for word in ("SELECT ", "INSERT INTO", "UPDATE runs"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_is_too_long_to_read(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LARGEST
