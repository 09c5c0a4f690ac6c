"""How the API wraps what it says, and how it says no."""

from __future__ import annotations

import json
from typing import Any

from research_scrapers.replica.wire import Reply

_ESCAPED = str.maketrans({"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"})
MESSAGES = {
    -101: "账号未登录",
    -352: "风控校验失败",
    -400: "请求错误",
    -403: "访问权限不足",
    -404: "啥都木有",
    -412: "请求被拦截",
    -509: "请求过于频繁，请稍后再试",
    -799: "请求过于频繁，请稍后再试",
    12002: "评论区已关闭",
    12006: "没有该评论",
    12009: "评论主体的type不合法",
    12022: "已经被删除了",
    12061: "UP主已关闭评论区",
}


def json_body(value: Any, status: int = 200, code: int | None = None) -> Reply:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPED)
    headers = [("Content-Type", "application/json; charset=utf-8")]
    if code is not None:
        headers.append(("bili-status-code", str(code)))
    return Reply(status, text.encode("utf-8", "surrogatepass"), headers)


def answer(data: Any, *, key: str = "data") -> Reply:
    return json_body({"code": 0, "message": "OK", "ttl": 1, key: data}, code=0)


def refusal(code: int, message: str = "", **rest: Any) -> Reply:
    """An error: HTTP 200 all the same, and no `data` unless given."""
    return json_body({"code": code, "message": message or MESSAGES[code], "ttl": 1, **rest}, code=code)


def binary(body: bytes) -> Reply:
    return Reply(200, body, [("Content-Type", "application/octet-stream")])
