"""A small, exact reader of Bilibili's answers for tests of the replica: no retries, no opinions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from time import time
from typing import Any
from urllib.parse import quote, urlencode

from research_scrapers.replica.bilibili import Bilibili
from research_scrapers.replica.bilibili.signing import mixin_key, signature
from research_scrapers.replica.wire import Hit, Reply

API = "api.bilibili.com"
LOGIN = {"SESSDATA": "replica-sessdata"}
Tree = dict[str, str | None]


@dataclass
class Reader:
    site: Bilibili
    cookies: dict[str, str] = field(default_factory=lambda: dict(LOGIN))
    pages: int = 0

    def get(self, path: str, host: str = API, method: str = "GET", **query: Any) -> Reply:
        plain = {name: str(value) for name, value in query.items()}
        target = f"{path}?{urlencode(plain, quote_via=quote)}" if plain else path
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return self.site.handle(Hit(method, host, target, {"cookie": cookie} if cookie else {}))

    def json(self, path: str, **query: Any) -> Any:
        return json.loads(self.get(path, **query).body)

    def signed(self, path: str, **query: Any) -> Any:
        plain = {name: str(value) for name, value in query.items()} | {"wts": str(int(time()))}
        return self.json(path, **plain, w_rid=signature(plain, mixin_key(*self.site.keys.pair())))

    def page(self, aid: int, mode: int = 2, offset: str = "", **more: Any) -> Any:
        self.pages += 1
        wrapped = json.dumps({"offset": offset}, separators=(",", ":"))
        return self.signed("/x/v2/reply/wbi/main", oid=aid, type=1, mode=mode, pagination_str=wrapped, **more)

    def walk(self, aid: int, mode: int = 2, most: int = 100) -> tuple[list[Any], list[str]]:
        """(pages, cursors) until the site says that it is over, or `most` pages."""
        pages, cursors, offset = [], [], ""
        while len(pages) < most:
            pages.append(self.page(aid, mode, offset)["data"])
            if pages[-1]["cursor"]["is_end"]:
                break
            offset = pages[-1]["cursor"]["pagination_reply"]["next_offset"]
            cursors.append(offset)
        return pages, cursors

    def below(self, aid: int, root: int) -> Tree:
        found: Tree = {}
        number = 1
        while True:
            data = self.json("/x/v2/reply/reply", oid=aid, type=1, root=root, pn=number, ps=20)["data"]
            if not data["replies"]:
                return found
            found |= {reply["rpid_str"]: reply["parent_str"] for reply in data["replies"]}
            number += 1

    def tree(self, aid: int, pages: list[Any]) -> Tree:
        found: Tree = {}
        for page in pages:
            for root in (*(page["replies"] or ()), *(page["top_replies"] or ())):
                found[root["rpid_str"]] = None
                found |= {reply["rpid_str"]: reply["parent_str"] for reply in root["replies"] or ()}
                if root["rcount"]:
                    found |= self.below(aid, root["rpid"])
        return found
