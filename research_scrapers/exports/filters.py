"""``--where`` and ``--columns``: a small grammar, checked before anything is written.

    provider=youtube    like_count>=10    published_after>=2024-01-01    text~climate    transcripts.language!=en

A condition is a column, an operator and a value; several conditions must all hold. ``~`` means «contains», whatever
the case. An empty value means «empty». With a table's name and a dot in front it binds that table alone.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from research_scrapers.errors import SettingInvalid
from research_scrapers.store.columns import COVERAGE, TABLES, Column, Table
from research_scrapers.store.selection import Condition

_GRAMMAR = re.compile(r"\s*(?:(?P<table>\w+)\.)?(?P<column>\w+)\s*(?P<operator>!=|>=|<=|=|>|<|~)\s*(?P<value>.*)", re.S)
_IDENTITY = ("run_id", "provider", "video_id")
"""What narrows the coverage table too; other conditions leave it whole, so that a gap stays visible."""
_YES_NO = {"true": 1, "yes": 1, "1": 1, "false": 0, "no": 0, "0": 0}


def parse_conditions(texts: Iterable[str], tables: Sequence[Table]) -> list[Condition]:
    """Each text as a condition that at least one of the tables knows."""
    return [_condition(text, tables) for text in texts]


def _condition(text: str, tables: Sequence[Table]) -> Condition:
    found = _GRAMMAR.fullmatch(text)
    if found is None:
        raise SettingInvalid(f"--where {text!r}: write it as column, operator, value, such as like_count>=10")
    name, operator, value = found["column"], found["operator"], found["value"]
    column = _find(name, found["table"] or "", tables, "--where")
    return Condition(name, operator, _value(text, column, operator, value), found["table"] or "")


def _value(text: str, column: Column, operator: str, value: str) -> str | int | float | None:
    if value == "":
        if operator not in ("=", "!="):
            raise SettingInvalid(f"--where {text!r}: nothing stands behind {operator}")
        return None
    if operator == "~" and column.kind not in ("text", "json"):
        raise SettingInvalid(f"--where {text!r}: {column.name} is not a text, so it cannot contain one")
    if column.kind == "boolean":
        if value.lower() not in _YES_NO:
            raise SettingInvalid(f"--where {text!r}: {column.name} is true or false")
        return _YES_NO[value.lower()]
    if column.kind in ("integer", "real"):
        try:
            number = int(value) if column.kind == "integer" else float(value)
        except ValueError:
            raise SettingInvalid(f"--where {text!r}: {column.name} is a number") from None
        return number if abs(number) < 2**63 else float(number)  # SQLite's integers end there
    return value


def _find(name: str, table: str, tables: Sequence[Table], option: str) -> Column:
    if table and table not in TABLES:
        raise SettingInvalid(f"{option}: there is no table {table}; there are {', '.join(TABLES)}")
    chosen = [one for one in tables if table in ("", one.name)]
    for one in chosen:
        for column in one.columns:
            if column.name == name:
                return column
    known = sorted({column for one in chosen for column in one.names})
    nearest = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {nearest[0]}?" if nearest else f"There are: {', '.join(known)}"
    raise SettingInvalid(f"{option}: no column is called {name}. {hint}")


def conditions_for(table: Table, conditions: Sequence[Condition]) -> list[Condition]:
    """Those that bind this table."""
    return [
        one for one in conditions
        if one.table == table.name
        or (not one.table and one.column in table.names and (table is not COVERAGE or one.column in _IDENTITY))
    ]  # fmt: skip


def parse_columns(text: str | None, tables: Sequence[Table]) -> list[tuple[str, str]]:
    """``comment_id,text,videos.title`` as pairs of table (or '') and column."""
    wanted = []
    for part in (text or "").split(","):
        if not part.strip():
            continue
        table, _, name = part.strip().rpartition(".")
        _find(name, table, tables, "--columns")
        wanted.append((table, name))
    return wanted


def columns_for(table: Table, wanted: Sequence[tuple[str, str]]) -> list[Column]:
    """The columns of this table that are wanted, in the order in which they are named; all, where none is."""
    known = {column.name: column for column in table.columns}
    mine = [name for of, name in wanted if of == table.name or (not of and name in known and table is not COVERAGE)]
    return [known[name] for name in dict.fromkeys(mine)] or list(table.columns)
