"""Control of a replica that runs in another process, under /_replica/ on its loopback address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .faults import rule_from
from .wire import Hit, Reply, json_reply

if TYPE_CHECKING:
    from .server import Replica

CONTROL = "/_replica/"


class Control:
    """GET truth, counters; POST faults, latency, caching, reset, mutate."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica

    def handle(self, hit: Hit) -> Reply:
        try:
            return json_reply(self._answer(hit))
        except (KeyError, ValueError, TypeError) as exc:
            return json_reply({"error": repr(exc)}, 400)

    def _answer(self, hit: Hit) -> Any:
        replica = self.replica
        match hit.method, hit.path.removeprefix(CONTROL):
            case "GET", "truth":
                out: dict[str, Any] = {}
                for site in replica.sites:
                    wanted = hit.query.get("texts", "1") != "0"
                    out |= site.truth(hit.query.get("video", ""), wanted)
                return out
            case "GET", "counters":
                snapshot = replica.counters.snapshot(log=hit.query.get("log") == "1")
                return {**snapshot, "quota_used": replica.youtube.api.used}
            case "POST", "faults":
                body = hit.json()
                rules = [rule_from(rule) for rule in body["rules"]]
                if body.get("replace", True):
                    replica.faults.clear()
                replica.faults.rules.extend(rules)
                return {"rules": len(replica.faults.rules)}
            case "POST", "latency":
                replica.latency = float(hit.json()["seconds"])
                return {"latency": replica.latency}
            case "POST", "caching":
                replica.caching = str(hit.json()["control"])
                return {"caching": replica.caching}
            case "POST", "reset":
                replica.counters.reset()
                replica.faults.clear()
                for site in replica.sites:
                    site.reset()
                return {"reset": True}
            case "POST", "mutate":
                change = hit.json()  # see the site's mutate; "site" is its class in lower case
                name = change.get("site", "youtube")
                site = next(s for s in replica.sites if type(s).__name__.lower() == name)
                return {"ids": site.mutate(change)}
        raise ValueError(f"no control {hit.method} {hit.path}")
