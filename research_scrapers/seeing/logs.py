"""Structured logs: one JSON object a line, with the ids of run, job, sub-job, worker and line where they are known."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

from research_scrapers.control.events import Event
from research_scrapers.control.watching import Watcher
from research_scrapers.errors import SettingInvalid

if TYPE_CHECKING:
    from research_scrapers.control.centre import Centre
    from research_scrapers.crawling.gate import Gate


class JsonLog(Watcher, logging.Handler):
    """Every log record and every event of the run, in a file. A log call names its sub-job with
    ``extra={"sub_job": id}``; job, worker and line are looked up.
    """

    def __init__(self, path: Path, secrets: Iterable[str] = (), level: int = logging.INFO) -> None:
        super().__init__(level)
        self._secrets = sorted({form for secret in secrets if secret for form in (secret, quote(secret, safe=""))})
        self._centre: Centre | None = None
        self._file: IO[str] = _opened(path)

    def begin(self, centre: Centre, gate: Gate) -> None:
        self._centre = centre
        centre.listeners.add(self._heard)
        logging.getLogger().addHandler(self)

    def end(self) -> None:
        logging.getLogger().removeHandler(self)
        self._file.close()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            told = {"time": _moment(record.created), "level": record.levelname, "message": record.getMessage(),
                    "logger": record.name, **self._ids(record)}  # fmt: skip
            if record.exc_info:
                told["exception"] = logging.Formatter().formatException(record.exc_info)
            self._write(told)
        except Exception:
            self.handleError(record)

    def _ids(self, record: logging.LogRecord) -> dict[str, Any]:
        if self._centre is None:
            return {}
        spider = getattr(record, "spider", None)
        ids = {"run": self._centre.session.run.id, "line": getattr(spider, "name", None)}
        sub_job = getattr(record, "sub_job", None)
        if sub_job is not None:
            ids["sub_job"] = sub_job
            for worker in self._centre.workers:
                if worker.lease is not None and worker.lease.id == sub_job:
                    ids |= {"worker": worker.number, "job": worker.lease.job_id, "video": worker.lease.video_id,
                            "line": worker.line.name if worker.line else None}  # fmt: skip
        return {name: value for name, value in ids.items() if value is not None}

    def _heard(self, event: Event) -> None:
        now = datetime.now(UTC).timestamp()
        ids = {name: value for name, value in asdict(event).items() if value is not None and name != "what"}
        self._write({"time": _moment(now), "level": "INFO", "message": event.what, "event": event.what, **ids})

    def _write(self, told: dict[str, Any]) -> None:
        line = json.dumps(told, ensure_ascii=False, default=str)
        for secret in self._secrets:
            line = line.replace(secret, "…").replace(json.dumps(secret, ensure_ascii=False)[1:-1], "…")
        if not self._file.closed:
            self._file.write(line + "\n")
            self._file.flush()


def _opened(path: Path) -> IO[str]:
    """The file, for its owner alone."""
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8")
    except OSError as error:
        raise SettingInvalid(f"--log-json {path}: {error.strerror}") from error


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
