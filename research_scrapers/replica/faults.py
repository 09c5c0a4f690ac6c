"""Misbehaviour on request: rules that say which requests fail, and how."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, fields
from random import Random
from time import monotonic
from typing import Any

# Actions the server carries out itself; every other name is a special page of the site.
ACTIONS = ("status", "reset", "hang", "truncate", "empty", "html", "garbage", "drip")
SPECIAL = (
    "bot_check",
    "consent",
    "consent_redirect",
    "sorry",
    "captcha",
    "incomplete",
    "rate_limit",
)
# Bilibili's, see bilibili/refusals.py.
BILIBILI = tuple(
    f"bili_{name}"
    for name in (
        *("412", "412_json", "-412", "-352", "-352_bare", "voucher", "-509", "-799", "-403", "-101"),
        *("null", "void", "hollow", "captcha", "html", "empty"),
    )
)


@dataclass(slots=True)
class Rule:
    """Which requests (all given conditions must hold), how often, and what happens.

    Of the matching requests the first `skip` pass, then every `every`-th fails with
    `probability`, at most `count` in all (None: always). With `over`, only requests beyond that
    many in the last `window` seconds fail: a rate limit.
    """

    action: str
    host: str = ""
    path: str = ""  # a prefix
    method: str = ""
    video: str = ""
    key: str = ""  # part of the logical page's key
    skip: int = 0
    every: int = 1
    count: int | None = None
    probability: float = 1.0
    over: int | None = None
    window: float = 1.0
    status: int = 503
    retry_after: float | None = None  # seconds
    retry_date: bool = False  # say it as a date, the header's other form
    seconds: float = 3600.0  # hang: how long; drip: for the whole body
    keep: float = 0.5  # truncate: share of the body that is sent
    matched: int = 0
    fired: int = 0
    recent: deque[float] = field(default_factory=deque)

    def __post_init__(self) -> None:
        if self.action not in ACTIONS + SPECIAL + BILIBILI:
            raise ValueError(f"unknown fault {self.action!r}")
        if self.every < 1:
            raise ValueError("every must be at least 1")

    def wants(self, host: str, path: str, method: str, video: str, key: str) -> bool:
        return (
            (not self.host or self.host == host)
            and path.startswith(self.path)
            and (not self.method or self.method == method)
            and (not self.video or self.video == video)
            and self.key in key
        )

    def above_rate(self) -> bool:
        if self.over is None:
            return True
        now = monotonic()
        self.recent.append(now)
        while self.recent[0] < now - self.window:
            self.recent.popleft()
        return len(self.recent) > self.over


def rule_from(data: dict[str, Any]) -> Rule:
    """A rule given as JSON; `nth` (1 = first) is short for skip and count."""
    data = dict(data)
    nth = data.pop("nth", None)
    if nth is not None:
        data |= {"skip": int(nth) - 1, "count": 1}
    known = {entry.name for entry in fields(Rule)} - {"matched", "fired", "recent"}
    unknown = set(data) - known
    if unknown:
        raise ValueError(f"unknown fault settings: {', '.join(sorted(unknown))}")
    return Rule(**data)


class FaultPlan:
    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self.rules: list[Rule] = []
        self._random = Random(seed)

    def add(self, action: str | Rule, **settings: Any) -> Rule:
        rule = action if isinstance(action, Rule) else rule_from({"action": action, **settings})
        self.rules.append(rule)
        return rule

    def clear(self) -> None:
        self.rules.clear()
        self._random = Random(self._seed)

    def pick(self, host: str, path: str, method: str, video: str = "", key: str = "") -> Rule | None:
        """The rule that this request falls to; the first one that fires wins."""
        for rule in self.rules:
            if not rule.wants(host, path, method, video, key):
                continue
            rule.matched += 1
            if not rule.above_rate():
                continue
            if rule.count is not None and rule.fired >= rule.count:
                continue
            turn = rule.matched - rule.skip
            if turn <= 0 or turn % rule.every:
                continue
            if rule.probability < 1 and self._random.random() >= rule.probability:
                continue
            rule.fired += 1
            return rule
        return None
