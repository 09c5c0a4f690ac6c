"""The ledger against a simple model of it: any order of verbs, by several owners, with leases that run out.

The model knows who owns what, which comments each sub-job has seen, and which chains are open. After every step the
database must say the same; whoever comes late must have written nothing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from fuzzing.ledger_model import Held, Sub, fresh
from research_scrapers.coverage import CONCLUDE, Conclusion
from research_scrapers.errors import LeaseLost
from research_scrapers.models import MAIN, Cursor, Kind, Link, Options, Outcome, Page
from research_scrapers.store.database import Store
from research_scrapers.store.ledger import Ledger
from research_scrapers.store.runs import Runs
from tests.factories import Clock, comment

OPTIONS = Options()
LEASE_S = 60.0
OWNERS = ("one", "two")
WORK = {"youtube": (Kind.COMMENTS,), "bilibili": (Kind.METADATA, Kind.COMMENTS)}
ENDED = ("success", "failed", "cancelled")
_NAMES = st.lists(st.sampled_from("abcdefgh"), max_size=4)
_TABLES = ("runs", "jobs", "sub_jobs", "checkpoints", "comments", "sightings", "comment_revisions", "videos")
_MOSTLY = st.sampled_from((True, True, True, True, False))
_OWNER = st.sampled_from(OWNERS)


class LedgerMachine(RuleBasedStateMachine):
    """Rules are the verbs; invariants are the promises."""

    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.mkdtemp(prefix="ledger-")
        (Path(self._folder) / "research.db").write_bytes(fresh())
        self.store = Store(Path(self._folder) / "research.db")
        self.store.conn.execute("PRAGMA synchronous = OFF")
        self.clock = Clock(1_800_000_000.0)
        self.runs = Runs(self.store)
        self.subs: dict[int, Sub] = {}
        self.tokens = 0

    def teardown(self) -> None:
        try:
            self._last_session()
        finally:
            self.store.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    @initialize(videos=st.integers(1, 3), waiting=st.integers(0, 2))
    def begin_run(self, videos: int, waiting: int) -> None:
        self.runs.create("run", "fuzzing", config={}, jobdir=None, links="")
        lines = [Link("youtube", f"video{n}", n, "link") for n in range(videos)]
        lines += [Link("bilibili", f"BV{n}", 100 + n, "link") for n in range(waiting)]
        self.runs.take_in("run", lines, WORK, "fuzzing")
        self._learn_new()

    # -- verbs ---------------------------------------------------------------------------------------------------

    def _ledger(self, owner: str) -> Ledger:
        return Ledger(self.store, "run", owner, lease_s=LEASE_S, clock=self.clock)

    @rule(target=leases, owner=_OWNER, provider=st.sampled_from(tuple(WORK)))
    def claim(self, owner: str, provider: str) -> object:
        ledger = self._ledger(owner)
        free = {
            row["id"] for row in self._rows("SELECT * FROM sub_jobs WHERE provider = ? AND waits = 0", provider)
            if self._free(self.subs[row["id"]])
        }  # fmt: skip
        lease = ledger.claim(provider, dict.fromkeys(WORK[provider], "web"))
        assert (lease is not None) == bool(free), "what is free is given, and nothing else"
        if lease is None:
            return multiple()
        assert lease.id in free
        sub = self.subs[lease.id]
        sub.owner, sub.attempt, sub.until, sub.status = owner, sub.attempt + 1, self.clock() + LEASE_S, "in_progress"
        assert lease.attempt == sub.attempt
        assert {cursor.chain: cursor.token for cursor in lease.cursors} == {
            name: cursor.token for name, (state, cursor) in sub.chains.items() if state == "open"
        }, "an heir goes on where the last one stood"
        assert lease.collected == len(sub.seen)
        held = Held(lease, {cursor.chain: cursor for cursor in lease.cursors})
        if not lease.cursors and not lease.pages and not sub.chains:
            first = self._cursor(MAIN)
            ledger.begin(lease, first)
            sub.chains[MAIN], sub.first[MAIN] = ("open", first), first
            held.chains[MAIN] = first
        return held

    @rule(held=leases, names=_NAMES, on=_MOSTLY, threads=_NAMES, right=_MOSTLY, data=st.data())
    def commit_page(
        self, held: Held, names: list[str], on: bool, threads: list[str], right: bool, data: st.DataObject
    ) -> None:
        if not held.chains:
            return
        chain = data.draw(st.sampled_from(sorted(held.chains)))
        here = held.chains[chain]
        sub = self.subs[held.lease.id]
        following = self._cursor(chain) if on else None
        found = () if chain else tuple(Cursor(name, "replies", f"r{name}") for name in dict.fromkeys(threads))
        asked = here if right else Cursor(chain, "page", "never")
        page = Page(asked, self._records(held, names, chain), following, found)
        due = self._owns(held) and sub.chains.get(chain) == ("open", asked)
        receipt = self._fenced(lambda: self._ledger(held.lease.owner).commit_page(held.lease, page, OPTIONS), due)
        if receipt is None:
            return
        fresh = set(self._ids(names, chain)) - sub.seen
        assert receipt.added == len(fresh) == len({record.comment_id for record in receipt.fresh})
        sub.seen |= fresh
        goes_on = following is not None and receipt.ended is None
        sub.chains[chain] = ("open", following) if goes_on and following else ("done", here)
        held.chains.pop(chain)
        if goes_on and following:
            held.chains[chain] = following
        opened = {cursor.chain for cursor in receipt.cursors} - ({chain} if goes_on else set())
        assert opened == {cursor.chain for cursor in found} - sub.chains.keys(), "a thread is opened once"
        for cursor in found:
            if cursor.chain in opened:
                sub.chains[cursor.chain], sub.first[cursor.chain] = ("open", cursor), cursor
                held.chains[cursor.chain] = cursor

    @rule(held=leases, chain=st.sampled_from(("", "a", "b", "c")))
    def restart_chain(self, held: Held, chain: str) -> None:
        sub = self.subs[held.lease.id]
        if chain not in sub.chains:
            return
        again = self._fenced(lambda: self._ledger(held.lease.owner).restart_chain(held.lease, chain), self._owns(held))
        if not self._owns(held):
            return
        assert (again is None) == (chain in sub.restarted), "once in a session"
        if again is not None:
            assert again.token == sub.first[chain].token
            sub.restarted.add(chain)
            sub.chains[chain] = ("open", again)
            held.chains[chain] = again

    @rule(held=leases, reason=st.sampled_from(("server_trouble", "cursor_expired")), data=st.data())
    def fail_chain(self, held: Held, reason: str, data: st.DataObject) -> None:
        threads = sorted(name for name in held.chains if name)
        sub = self.subs[held.lease.id]
        if not threads:
            return
        chain = data.draw(st.sampled_from(threads))
        if sub.chains.get(chain, ("", None))[0] != "open":
            return
        due = self._owns(held)
        self._fenced(lambda: self._ledger(held.lease.owner).fail_chain(held.lease, chain, reason, ""), due)
        held.chains.pop(chain)
        if due:
            sub.chains[chain] = ("failed", sub.chains[chain][1])
            (sub.dead.add if reason == "cursor_expired" else sub.dead.discard)(chain)

    @rule(held=consumes(leases), empty=st.booleans())
    def finish(self, held: Held, empty: bool) -> None:
        sub, due = self.subs[held.lease.id], self._owns(held)
        conclusion = CONCLUDE[held.lease.kind](self._ledger(held.lease.owner).facts(held.lease, OPTIONS))
        if empty:
            conclusion = Conclusion(Outcome.EMPTY, "comments_disabled", "")
        self._fenced(lambda: self._ledger(held.lease.owner).finish(held.lease, conclusion, sort="newest"), due)
        if due:
            ended = conclusion.outcome is Outcome.EMPTY or not sub.open()
            self._free_again(sub, "success" if ended else "pending")
            if ended and held.lease.kind is Kind.METADATA:
                self._waiting(held, None)

    @rule(held=consumes(leases), retriable=st.booleans())
    def fail(self, held: Held, retriable: bool) -> None:
        sub, due = self.subs[held.lease.id], self._owns(held)
        self._fenced(lambda: self._ledger(held.lease.owner).fail(held.lease, "timeout", "", retriable=retriable), due)
        if due:
            self._free_again(sub, "failed")
            if held.lease.kind is Kind.METADATA:
                self._waiting(held, "failed")

    @rule(held=consumes(leases))
    def let_go(self, held: Held) -> None:
        due = self._owns(held)
        self._fenced(lambda: self._ledger(held.lease.owner).let_go(held.lease), due)
        if due:
            self._free_again(self.subs[held.lease.id], "pending")

    @rule(target=leases, owner=_OWNER, provider=st.sampled_from(tuple(WORK)), pages=st.integers(1, 3), data=st.data())
    def claim_and_read(self, owner: str, provider: str, pages: int, data: st.DataObject) -> object:
        """As a spider does it: rarely is anything else done with a new lease."""
        held = self.claim(owner, provider)
        for _ in range(pages if isinstance(held, Held) else 0):
            self.commit_page(held, data.draw(_NAMES), data.draw(_MOSTLY), data.draw(_NAMES), True, data)
        return held

    @rule(held=leases, count=st.integers(0, 3), part=st.sampled_from(("", "2")))
    def resolve(self, held: Held, count: int, part: str) -> None:
        """A short link turns out to be other videos: new jobs, each once."""
        sub = self.subs[held.lease.id]
        if held.lease.kind is not Kind.METADATA or MAIN not in held.chains:
            return
        here = held.chains[MAIN]
        videos = tuple(f"BV-{n}" for n in range(count))
        page = Page(here, resolved=videos, session={"part": part} if part else {})
        due = self._owns(held) and sub.chains.get(MAIN) == ("open", here)
        if self._fenced(lambda: self._ledger(held.lease.owner).commit_page(held.lease, page, OPTIONS), due) is None:
            return
        sub.chains[MAIN] = ("done", here)
        held.chains.pop(MAIN)
        gone = set(self.subs) - {row["id"] for row in self._rows("SELECT id FROM sub_jobs")}
        for number in gone:
            del self.subs[number]
        self._learn_new()

    @rule(what=st.sampled_from(("heartbeat", "release", "later", "expiry", "expiry", "back", "death")), owner=_OWNER)
    def something_happens(self, what: str, owner: str) -> None:
        """Signs of life, a lease that runs out, a clock that is set, a process that dies and is begun again."""
        mine = [sub for sub in self.subs.values() if sub.owner == owner]
        match what:
            case "heartbeat":
                assert self._ledger(owner).heartbeat() == len(mine)
                for sub in mine:
                    sub.until = self.clock() + LEASE_S
            case "release":
                assert self._ledger("another").release(owners=[owner]) == len(mine)
                for sub in mine:
                    self._free_again(sub, "pending")
            case "later":
                self.clock.now += LEASE_S / 2
            case "expiry":
                self.clock.now += LEASE_S + 1
            case "back":
                self.clock.now -= LEASE_S / 2
            case _:
                path = self.store.path
                self.store.close()
                self.store = Store(path)
                self.store.conn.execute("PRAGMA synchronous = OFF")
                self.runs = Runs(self.store)

    @rule()
    def reopen(self) -> None:
        """A new session of the run, with nobody else at work."""
        for owner in OWNERS:
            self.something_happens("release", owner)
        self.runs.reopen("run")
        for row in self._rows("SELECT * FROM sub_jobs"):
            sub = self.subs[row["id"]]
            sub.status, sub.restarted = row["status"], set() if row["status"] == "pending" else sub.restarted
            if row["status"] == "pending":
                dead = {name for name in sub.dead if sub.chains.get(name, ("",))[0] == "failed"}
                if dead:  # only the main chain brings fresh tokens: it begins anew, and finds those threads again
                    sub.chains = {name: kept for name, kept in sub.chains.items() if name not in dead}
                    sub.chains[MAIN] = ("open", sub.first[MAIN])
                sub.dead.clear()
                sub.chains = {
                    name: ("open" if state == "failed" else state, cursor)
                    for name, (state, cursor) in sub.chains.items()
                }

    # -- promises ------------------------------------------------------------------------------------------------

    @invariant()
    def the_database_says_what_the_model_says(self) -> None:
        for row in self._rows("SELECT * FROM sub_jobs"):
            sub = self.subs[row["id"]]
            assert (row["status"], row["owner"], row["attempt"]) == (sub.status, sub.owner, sub.attempt)
            assert row["top_level"] + row["replies"] == len(sub.seen), "counted once, whoever saw it again"
            seen = self._rows("SELECT count(*) AS n FROM sightings WHERE sub_job_id = ?", row["id"])[0]["n"]
            assert seen == len(sub.seen)
            stored = {
                one["chain"]: (one["state"], one["token"])
                for one in self._rows("SELECT * FROM checkpoints WHERE sub_job_id = ?", row["id"])
            }
            assert {name: state for name, (state, _) in stored.items()} == {
                name: state for name, (state, _) in sub.chains.items()
            }
            for name, (state, cursor) in sub.chains.items():
                assert state != "open" or stored[name][1] == cursor.token

    @invariant()
    def nothing_twice(self) -> None:
        query = "SELECT count(*) AS n, count(DISTINCT provider || video_id || comment_id) AS d FROM comments"
        counted = self._rows(query)[0]
        assert counted["n"] == counted["d"]

    @invariant()
    def what_has_ended_has_no_owner(self) -> None:
        assert not self._rows(
            "SELECT 1 FROM sub_jobs WHERE (status = 'in_progress') <> (owner IS NOT NULL)"
            " OR (status = 'in_progress') <> (lease_until IS NOT NULL)"
        )

    @invariant()
    def a_job_stands_as_its_work_does(self) -> None:
        for row in self._rows("SELECT id, status FROM jobs WHERE status IN ('success', 'failed')"):
            states = {one["status"] for one in self._rows("SELECT status FROM sub_jobs WHERE job_id = ?", row["id"])}
            assert states <= set(ENDED)

    def _last_session(self) -> None:
        """After the last resume every sub-job ends, and the run with it."""
        if not self.subs:
            return
        self.reopen()
        for _ in range(200):
            held = [one for provider in WORK if isinstance(one := self.claim("one", provider), Held)]
            for one in held:
                for chain in list(one.chains):
                    if chain in one.chains:
                        here = one.chains[chain]
                        self._ledger("one").commit_page(
                            one.lease, Page(here, self._records(one, ["z"], chain)), OPTIONS
                        )
                        self.subs[one.lease.id].seen |= set(self._ids(["z"], chain))
                        self.subs[one.lease.id].chains[chain] = ("done", one.chains.pop(chain))
                self.finish(one, empty=False)
                self.the_database_says_what_the_model_says()
            if not held:
                break
        assert not self._rows("SELECT 1 FROM sub_jobs WHERE status NOT IN ('success', 'failed', 'cancelled')")
        assert self.runs.close("run", None) == 0
        assert self._rows("PRAGMA integrity_check")[0][0] == "ok"
        assert not self._rows("PRAGMA foreign_key_check")

    # -- helpers -------------------------------------------------------------------------------------------------

    def _fenced(self, verb: Callable[[], object], due: bool) -> object:
        """The verb works exactly if it is due; otherwise it says so and has changed nothing at all."""
        before = None if due else self._all()
        try:
            done = verb()
        except LeaseLost:
            assert not due, "the owner was turned away"
            assert self._all() == before, "a zombie has written"
            return None
        assert due, "a zombie was let in"
        if self._touched is not None:
            self._touched.until = self.clock() + LEASE_S
        return done

    _touched: Sub | None = None

    def _all(self) -> list[object]:
        """All that a verb could change."""
        return [tuple(row) for table in _TABLES for row in self._rows(f"SELECT * FROM {table}")]

    def _owns(self, held: Held) -> bool:
        sub = self.subs.get(held.lease.id)
        self._touched = sub
        return sub is not None and (sub.owner, sub.attempt) == (held.lease.owner, held.lease.attempt)

    def _free(self, sub: Sub) -> bool:
        return sub.status == "pending" or (sub.status == "in_progress" and sub.until < self.clock())

    def _free_again(self, sub: Sub, status: str) -> None:
        sub.owner, sub.status = None, status

    def _waiting(self, held: Held, status: str | None) -> None:
        for row in self._rows("SELECT id FROM sub_jobs WHERE job_id = ? AND kind <> 'metadata'", held.lease.job_id):
            if status is not None and self.subs[row["id"]].status == "pending":
                self.subs[row["id"]].status = status

    def _learn_new(self) -> None:
        for row in self._rows("SELECT id FROM sub_jobs"):
            self.subs.setdefault(row["id"], Sub())

    def _cursor(self, chain: str) -> Cursor:
        self.tokens += 1
        return Cursor(chain, "page", f"t{self.tokens}")

    def _ids(self, names: list[str], chain: str) -> list[str]:
        return [f"{chain}.{name}" if chain else name for name in names]

    def _records(self, held: Held, names: list[str], chain: str) -> tuple[object, ...]:
        lease = held.lease
        return tuple(
            comment(name, parent=chain or None, video=lease.video_id, provider=lease.provider)
            for name in self._ids(names, chain)
        )

    def _rows(self, sql: str, *values: object) -> list[object]:
        return self.store.conn.execute(sql, values).fetchall()
