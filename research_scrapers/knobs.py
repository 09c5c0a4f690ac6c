"""The knobs: what a person may decide without code, in ``research.toml`` or in the environment.

A knob is a Scrapy setting under a name of its own. Strength, weakest first: the file, the environment, flags, ``-s``.
Names and kinds of values are checked here, ranges in ``config``; defaults stand in ``settings`` alone.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "research.toml"
PREFIX = "RESEARCH_"
WHERE_FILE = "RESEARCH_CONFIG"
DECIDED = "RESEARCH_DECIDED"
"""The setting that tells which others a person has decided, and where."""
WRONG = "RESEARCH_WRONG"
"""The setting that tells what is wrong with the file or the environment, for `config` to raise."""
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_NEAR, _NEAR_SETTING = 0.75, 0.85


@dataclass(frozen=True, slots=True)
class Knob:
    """One of them."""

    name: str
    setting: str
    kind: str
    """``whole``, ``number``, ``switch`` or ``text``; ``seconds``: a number or ``never``; ``domains``: a number, or one
    for each of some domains."""
    own_variable: str = ""
    choices: tuple[str, ...] = ()
    secret: bool = False
    by_domain: str = ""
    """The setting that takes the numbers of single domains."""
    of_run: bool = True
    """Whether a resumed run goes on with the value that it was begun with."""

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return self.own_variable or PREFIX + self.name.upper()

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.setting, self.by_domain)))


KNOBS = {
    knob.name: knob
    for knob in (
        Knob("db", "RESEARCH_DB", "text", of_run=False),
        Knob("robots", "ROBOTSTXT_OBEY", "text", choices=("obey", "ignore")),
        Knob("youtube_api_key", "YOUTUBE_API_KEY", "text", "YOUTUBE_API_KEY", secret=True, of_run=False),
        Knob("bilibili_sessdata", "BILIBILI_SESSDATA", "text", "BILIBILI_SESSDATA", secret=True, of_run=False),
        Knob("bilibili_cookies", "BILIBILI_COOKIES", "text", "BILIBILI_COOKIES", secret=True, of_run=False),
        Knob("origin", "ORIGIN", "text", of_run=False),
        Knob("max_concurrency_global", "CONCURRENT_REQUESTS", "whole"),
        Knob("max_concurrency_per_domain", "CONCURRENT_REQUESTS_PER_DOMAIN", "domains", by_domain="DOMAIN_CONCURRENCY"),
        Knob("max_concurrency_per_artifact", "CONCURRENT_REQUESTS_PER_ARTIFACT", "whole"),
        Knob("max_browsers", "MAX_BROWSERS", "whole"),
        Knob("max_pages_per_browser", "MAX_PAGES_PER_BROWSER", "whole"),
        Knob("domain_rate", "DOMAIN_RATE", "domains", by_domain="DOMAIN_RATES"),
        Knob("domain_burst", "DOMAIN_BURST", "whole"),
        Knob("translation_rate", "TRANSLATION_RATE", "number"),
        Knob("request_timeout_s", "DOWNLOAD_TIMEOUT", "number"),
        Knob("retry_attempts", "RETRY_TIMES", "whole"),
        Knob("retry_backoff_base", "RETRY_BACKOFF_BASE", "number"),
        Knob("retry_backoff_cap_s", "RETRY_BACKOFF_CAP_S", "number"),
        Knob("breaker_cooldown_s", "BREAKER_COOLDOWN_S", "seconds"),
        Knob("breaker_threshold", "BREAKER_THRESHOLD", "whole"),
        Knob("breaker_share", "BREAKER_SHARE", "number"),
        Knob("breaker_sample", "BREAKER_SAMPLE", "whole"),
        Knob("breaker_patience", "BREAKER_PATIENCE", "whole"),
        Knob("comments_inflight_window", "COMMENTS_INFLIGHT_WINDOW", "whole"),
        Knob("transcripts_priority_boost", "TRANSCRIPTS_PRIORITY_BOOST", "number"),
        Knob("transcript_age_days", "TRANSCRIPT_AGE_DAYS", "number"),
        Knob("worker_pool_size", "WORKER_POOL_SIZE", "whole"),
        Knob("steal_policy", "STEAL_POLICY", "text", choices=("least", "most", "turn", "none")),
        Knob("lease_s", "LEASE_S", "number"),
        Knob("enable_http_cache", "HTTPCACHE_ENABLED", "switch"),
        Knob("enable_raw_capture", "RAW_CAPTURE", "switch"),
        Knob("privacy", "PRIVACY", "text", choices=("keep", "pseudonymise", "drop")),
        Knob("blobs", "BLOBS", "text"),
        Knob("log_level", "LOG_LEVEL", "text", choices=("DEBUG", "INFO", "WARNING", "ERROR"), of_run=False),
    )
}
OF_SETTING = {setting: knob for knob in KNOBS.values() for setting in knob.settings}
VARIABLES = {knob.variable: knob for knob in KNOBS.values()}


class KnobWrong(ValueError):
    """A knob has a name or a value that cannot be used; says where, and what would be right."""


def load(environ: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """Settings that the file and the environment decide, for a settings module. A mistake is told in `WRONG`, because
    Scrapy reads settings where an error would be shown as a traceback.
    """
    decided: dict[str, str] = {}
    values: dict[str, Any] = {}
    try:
        path = find_file(environ, folder)
        for name, (value, where) in {**(_from_file(path) if path else {}), **_from_environment(environ)}.items():
            these = settings_of(KNOBS[name], value, where)
            values |= these
            decided |= dict.fromkeys(these, where)
    except KnobWrong as error:
        return {WRONG: str(error), DECIDED: {}}
    return {**values, DECIDED: decided, WRONG: ""}


def find_file(environ: Mapping[str, str], folder: Path) -> Path | None:
    """The file of knobs, if there is one; one that is named must be there."""
    named = environ.get(WHERE_FILE)
    path = folder / Path(named).expanduser() if named else folder / FILE
    if path.is_file():
        return path
    if path.is_dir():
        raise KnobWrong(f"{path}: it is a folder; the file of knobs is expected there")
    if named:
        raise KnobWrong(f"{named}: there is no such file ({WHERE_FILE} or --config names it)")
    return None


def settings_of(knob: Knob, value: Any, where: str) -> dict[str, Any]:
    """The settings that a knob's value stands for."""
    told = f"{knob.name} ({where})"
    if knob.name == "robots":
        return {knob.setting: _choice(told, value, knob) == "obey"}
    if knob.kind == "domains":
        return _domains(knob, value, told)
    if knob.kind == "switch":
        return {knob.setting: _switch(told, value)}
    if knob.kind == "seconds" and value == "never":
        return {knob.setting: value}
    if knob.kind in ("whole", "number", "seconds"):
        return {knob.setting: _number(told, value, whole=knob.kind == "whole", never=knob.kind == "seconds")}
    if knob.choices:
        return {knob.setting: _choice(told, value, knob)}
    if not isinstance(value, str):
        raise KnobWrong(f"{told}: it must be text, in quotation marks")
    return {knob.setting: value}


def named(given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Settings that were given by the name of their knob (``-s max_concurrency_global=8``)."""
    found: dict[str, Any] = {}
    for name, value in given:
        knob = KNOBS.get(name.lower())
        if knob is not None and name not in knob.settings:
            found |= settings_of(knob, value, f"-s {name}")
    return found


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """The setting that someone probably meant; ``None`` where the name is right, or is nobody's we know of."""
    known = [*known, *OF_SETTING, *KNOBS]
    if name in known or name.lower() in KNOBS:
        return None
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=_NEAR_SETTING)), None)


def in_force(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Every knob with its value; of secrets only whether they are set."""
    found: dict[str, Any] = {}
    for knob in KNOBS.values():
        value = settings.get(knob.setting)
        if knob.secret:
            value = "set" if value else "not set"
        elif knob.name == "robots":
            value = "obey" if _switch(knob.name, value) else "ignore"
        elif knob.by_domain and (single := settings.get(knob.by_domain)):
            value = {"default": value, **split(single)}
        found[knob.name] = value
    return found


def of_run(values: Mapping[str, Any], decided: Iterable[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings out of a run's snapshot: those that a person had decided, and the others."""
    mine: dict[str, Any] = {}
    others: dict[str, Any] = {}
    chosen = set(decided)
    for name, value in values.items():
        knob = KNOBS.get(name)
        if knob is None or not knob.of_run:
            continue
        for setting, one in settings_of(knob, value, "the run").items():
            (mine if setting in chosen else others)[setting] = one
    return mine, others


def _from_file(path: Path) -> dict[str, tuple[Any, str]]:
    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except OSError as error:
        raise KnobWrong(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise KnobWrong(f"{path}: it is not TOML: {error}") from error
    lines = text.splitlines()
    found = {}
    for name, value in values.items():
        where = f"{path.name}:{_line(lines, name)}"
        if name not in KNOBS:
            raise KnobWrong(f"{where}: no knob is called {name}. {_hint(name, KNOBS)}")
        found[name] = (value, where)
    return found


def _line(lines: list[str], name: str) -> int:
    """The line on which a name stands, as a key or as a table."""
    pattern = re.compile(rf"""\s*\[?\s*["']?{re.escape(name)}["']?\s*(?:[=\].]|$)""")
    return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 1)


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    found = {}
    for variable, value in environ.items():
        if variable in VARIABLES:
            if value.strip():
                found[VARIABLES[variable].name] = (value.strip(), f"the variable {variable}")
        elif variable.startswith(PREFIX) and variable not in (WHERE_FILE, "RESEARCH_PRIVACY_KEY"):
            # Other programs may have variables that begin so: only what is nearly one of ours is a slip of the pen.
            near = difflib.get_close_matches(variable.removeprefix(PREFIX).lower(), KNOBS, n=1, cutoff=_NEAR)
            if near:
                raise KnobWrong(f"the variable {variable}: no knob is called so. Did you mean "
                                f"{KNOBS[near[0]].variable}?")  # fmt: skip
    return found


def _hint(name: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name.lower().removeprefix(PREFIX.lower()), list(known), n=1)
    if name.upper() in OF_SETTING:
        nearest = [OF_SETTING[name.upper()].name]
    return f"Did you mean {nearest[0]}?" if nearest else f"There are: {', '.join(known)}"


def _choice(told: str, value: Any, knob: Knob) -> str:
    for choice in knob.choices:
        if isinstance(value, str) and value.lower() == choice.lower():
            return choice
    nearest = difflib.get_close_matches(str(value), knob.choices, n=1)
    hint = f"Did you mean {nearest[0]}?" if nearest else f"There are: {', '.join(knob.choices)}"
    raise KnobWrong(f"{told}: there is no choice {value}. {hint}")


def _switch(told: str, value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in (*_YES, *_NO):
        raise KnobWrong(f"{told}: {value} must be true or false")
    return text in _YES


def _number(told: str, value: Any, *, whole: bool, never: bool = False) -> int | float:
    what = "a whole number" if whole else "a number, or never" if never else "a number"
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        return int(str(value)) if whole else float(value)
    except ValueError:
        raise KnobWrong(f"{told}: {value} must be {what}") from None


def _domains(knob: Knob, value: Any, told: str) -> dict[str, Any]:
    """``16``, ``bilibili.com=2,youtube.com=16``, or a table; ``default`` in it stands for all others."""
    whole = knob.by_domain == "DOMAIN_CONCURRENCY"
    if (isinstance(value, str) and "=" not in value) or not isinstance(value, str | Mapping):
        return {knob.setting: _number(told, value, whole=whole), knob.by_domain: {}}
    try:
        single = split(value)
    except ValueError:
        raise KnobWrong(f"{told}: write it as a number, or as bilibili.com=2,youtube.com=16") from None
    numbers = {domain: _number(f"{told}, {domain}", one, whole=whole) for domain, one in single.items()}
    general = numbers.pop("default", None)
    return {knob.by_domain: numbers, **({} if general is None else {knob.setting: general})}


def split(value: Any) -> dict[str, Any]:
    """A table of domains, however it was written: TOML reads a bare ``youtube.com = 16`` as a table in a table."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = json.loads(value)
    if isinstance(value, str):
        parts = [part.split("=") for part in value.split(",") if part.strip()]
        return {domain.strip(): number.strip() for domain, number in parts}
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            flat |= {f"{name}.{rest}": one for rest, one in split(inner).items()}
        else:
            flat[name] = inner
    return flat
