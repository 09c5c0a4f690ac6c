"""What we depend on and what we let pass: every version is pinned, every exception from the lint has its place."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PINNED = {
    canonicalize_name(line.partition("==")[0]): line.partition("==")[2]
    for line in CONSTRAINTS
    if line and not line.startswith("#")
}
ALLOWED = {"S608": ("store/", "crawling/feeds.py", "cli/demo.py"), "S603": ("cli/", "replica/launch.py"),
           "S314": ("providers/bilibili/danmaku_xml.py",), "S324": ("replica/",), "S310": ("replica/launch.py",),
           "S104": ("replica/tracklist.py",)}  # fmt: skip
"""S608: SQL with names of our own tables and columns in it, never a value. S603: our own commands, without a shell.
S314: XML without a document type. S324: checksums that the site's own wire form has. S310: our own loopback address.
S104: a field of a caption's address, not one to listen on."""


def _required(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> set[str]:
    key = (canonicalize_name(name), extras)
    if key in seen:
        return set()
    seen.add(key)
    try:
        wanted = distribution(name).requires or []
    except PackageNotFoundError:
        return set()
    found = {key[0]}
    for text in wanted:
        one = Requirement(text)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in (extras or {""})):
            found |= _required(one.name, frozenset(one.extras), seen)
    return found


def test_every_dependency_is_pinned() -> None:
    ours = canonicalize_name(PROJECT["project"]["name"])
    required = _required(
        PROJECT["project"]["name"], frozenset({"", *PROJECT["project"]["optional-dependencies"]}), set()
    )
    assert len(required) > 40
    assert required - {ours, "setuptools", "pip", "wheel"} <= PINNED.keys()


def test_pins_are_versions_and_nothing_else() -> None:
    for line in CONSTRAINTS:
        assert not line or line.startswith("#") or re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.+!]*", line), line
    assert "://" not in "".join(CONSTRAINTS)


def test_no_address_of_an_index_and_no_direct_reference() -> None:
    groups = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    for text in (text for group in groups for text in group):
        assert Requirement(text).url is None
    for name in ("Makefile", "pyproject.toml", ".ci/run.sh"):
        path = ROOT / name
        told = path.read_text("utf-8") if path.exists() else ""
        options = re.findall(r"pip install[^\n]*?(--\S*(?:index|host|links)\S*)", told)
        assert options == [], name


def test_security_lint_is_on_and_each_exception_is_where_it_belongs() -> None:
    lint = PROJECT["tool"]["ruff"]["lint"]
    assert "S" in lint["select"]
    assert {rule for rule in lint["ignore"] if rule.startswith("S")} <= {"S101", "S311", "SIM"}
    assert not any("S" in rules for place, rules in lint["per-file-ignores"].items() if "research_scrapers" in place)
    found: Counter[str] = Counter()
    for path in (ROOT / "research_scrapers").rglob("*.py"):
        place = path.relative_to(ROOT / "research_scrapers").as_posix()
        for rules in re.findall(r"# noqa: ([A-Z0-9, ]+)", path.read_text("utf-8")):
            for rule in re.findall(r"\bS\d+", rules):
                found[rule] += 1
                assert rule in ALLOWED, f"{place}: {rule}"
                assert place.startswith(ALLOWED[rule]), f"{place}: {rule}"
    assert "# noqa\n" not in "".join(path.read_text("utf-8") for path in (ROOT / "research_scrapers").rglob("*.py"))
    assert found
