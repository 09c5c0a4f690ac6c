"""What a database remembers of its project: who it is, and what its runs hide. Never the key."""

from __future__ import annotations

import secrets
import sqlite3

from research_scrapers.errors import SettingInvalid
from research_scrapers.privacy import Veil, key_check, key_path, project_key
from research_scrapers.store.database import Store


def _project(conn: sqlite3.Connection) -> sqlite3.Row:
    conn.execute("INSERT INTO project (id) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM project)", (secrets.token_hex(8),))
    row: sqlite3.Row = conn.execute("SELECT * FROM project").fetchone()
    return row


def held_policy(store: Store) -> str:
    """What the runs of this database hide."""
    with store.explained():
        row = store.conn.execute("SELECT policy FROM project").fetchone()
    return (row["policy"] if row else None) or "keep"


def veil_of(store: Store, policy: str) -> Veil:
    """The policy with this project's key."""
    if policy != "pseudonymise":
        return Veil(policy)
    with store.writing() as conn:
        row = _project(conn)
        key = project_key(row["id"])
        check = key_check(key)
        if row["key_check"] is None:
            conn.execute("UPDATE project SET key_check = ?", (check,))
        elif row["key_check"] != check:
            raise SettingInvalid(
                f"{key_path()} is not the key with which this database was made. Name the right one with "
                "RESEARCH_PRIVACY_KEY"
            )
    return Veil(policy, key)


def settle_policy(store: Store, policy: str) -> Veil:
    """The policy under which a run writes. A database keeps to one, or what one run hid another would show."""
    with store.writing() as conn:
        row = _project(conn)
        held = row["policy"]
        if held is None and policy != "keep" and conn.execute("SELECT 1 FROM comments LIMIT 1").fetchone():
            held = "keep"
        if held is not None and held != policy:
            raise SettingInvalid(
                f"PRIVACY={policy}: this database was begun with PRIVACY={held}. Go on with that, or name another "
                "file with RESEARCH_DB"
            )
        conn.execute("UPDATE project SET policy = ?", (policy,))
    return veil_of(store, policy)
