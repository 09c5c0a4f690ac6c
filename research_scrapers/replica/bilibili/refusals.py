"""How Bilibili refuses: pages and bodies that a fault rule can ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from research_scrapers.replica.wire import Hit, Reply, html_reply

from . import comments
from .envelope import answer, binary, json_body, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

_VOUCHER = "voucher_5f0c7d52-19c4-4f5e-8f6e-6a0e2b1d4c33"
_HOLLOW = {"/x/v2/reply": comments.hollow_legacy, "/x/v2/reply/reply": comments.hollow_below}


def banned_page() -> Reply:
    """HTTP 412 with a page for people."""
    filler = "<!-- " + "由于触发哔哩哔哩安全风控策略，该次访问请求被拒绝。" * 40 + " -->"
    return html_reply(
        '<!DOCTYPE html>\n<html lang="zh-cn">\n<head><meta name="spm_prefix" content="333.937">'
        f"<title>出错啦! - bilibili.com</title></head>\n<body>{filler}"
        '<div class="error-container"><div class="txt-item err-text">错误号: 412</div></div></body></html>',
        412,
    )


def captcha_page() -> Reply:
    """HTTP 200, short, and nothing of the video in it."""
    return html_reply(
        '<!DOCTYPE html><html><head><meta charset="utf-8"><title>验证码_哔哩哔哩</title></head><body>'
        '<div class="risk-captcha-app"></div><script>window._riskdata_ = {"v_voucher":"' + _VOUCHER + '"}</script>'
        f"<!-- {'x' * 500} --></body></html>"
    )


def _risk_voucher(hit: Hit) -> Reply:
    reply = refusal(-352, data={"v_voucher": _VOUCHER})
    reply.headers.append(("x-bili-gaia-vvoucher", _VOUCHER))
    return reply


def _hollow(hit: Hit) -> Reply:
    return answer(_HOLLOW.get(hit.path, comments.hollow_main)())


PAGES: dict[str, Callable[[Hit], Reply]] = {
    "bili_412": lambda hit: banned_page(),
    "bili_412_json": lambda hit: json_body({"code": -412, "message": "request was banned", "ttl": 1}, 412, -412),
    "bili_-412": lambda hit: refusal(-412),
    "bili_-352": _risk_voucher,
    "bili_-352_bare": lambda hit: refusal(-352, "-352"),
    "bili_voucher": lambda hit: answer({"v_voucher": _VOUCHER}),
    "bili_-509": lambda hit: refusal(-509),
    "bili_-799": lambda hit: refusal(-799),
    "bili_-403": lambda hit: refusal(-403),
    "bili_-101": lambda hit: refusal(-101),
    "bili_null": lambda hit: answer(None),
    "bili_void": lambda hit: answer({}),
    "bili_hollow": _hollow,
    "bili_captcha": lambda hit: captcha_page(),
    "bili_html": lambda hit: html_reply("<!DOCTYPE html><html><title>出错啦</title></html>"),
    "bili_empty": lambda hit: binary(b""),
}


def special(name: str, hit: Hit) -> Reply:
    if name not in PAGES:
        raise ValueError(f"unknown special page {name!r}")
    return PAGES[name](hit)
