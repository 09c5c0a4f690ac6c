"""Pages that stand between a client and the content: consent, captcha, robots.txt."""

from __future__ import annotations

from html import escape
from urllib.parse import quote, unquote_plus

from .wire import Headers, Hit, Reply, html_reply, redirect

_FORBIDDEN = """
/api/ /comment /feeds/videos.xml /file_download /get_video /get_video_info /get_midroll_info
/live_chat /login /qr /results /signup /t/terms /timedtext_video /verify_age /watch_ajax
/watch_fragments_ajax /watch_popup /watch_queue_ajax /youtubei/
"""


def robots(host: str, policy: str) -> Reply:
    """`real`: what www.youtube.com is known to say; `open`: nothing is forbidden."""
    plain = [("Content-Type", "text/plain")]
    if policy == "open":
        return Reply(200, b"User-agent: *\nDisallow:\n", plain)
    if not host.endswith("youtube.com"):
        return Reply(404, b"", plain)
    lines = ["User-agent: Mediapartners-Google*", "Disallow:", "", "User-agent: *"]
    lines += [f"Disallow: {path}" for path in _FORBIDDEN.split()]
    lines += ["", "Sitemap: https://www.youtube.com/sitemaps/sitemap.xml", ""]
    return Reply(200, "\n".join(lines).encode(), plain)


def consent_given(hit: Hit) -> bool:
    socs = hit.cookie("SOCS")
    return (
        (bool(socs) and not socs.startswith("CAA"))
        or hit.cookie("CONSENT").startswith("YES")
        or hit.query.get("ucbcb") == "1"
    )


def consent_page(url: str) -> Reply:
    fields = {
        "gl": "DE",
        "m": "0",
        "pc": "yt",
        "continue": url,
        "ca": "r",
        "x": "8",
        "v": "cb.20260101-00-p0.en+FX+119",
        "t": "ADw3F8replica:1617193322464",
        "hl": "en",
        "src": "1",
        "uxe": "24020387",
    }
    inputs = "".join(f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in fields.items())
    style = "".join(f".c{n} {{ margin: {n}px; color: #5f6368; }}\n" for n in range(150))
    return html_reply(
        '<!DOCTYPE html><html lang="en" dir="ltr"><head><style nonce="r">'
        f"{style}</style><title>Before you continue to YouTube</title></head><body>"
        '<div class="box"><h1>Before you continue to YouTube</h1>'
        '<form action="https://consent.youtube.com/s" method="POST" style="display:inline;">'
        f'{inputs}<input type="submit" value="I agree" class="button"/></form></div></body></html>'
    )


def consent_redirect(url: str) -> Reply:
    return redirect(f"https://consent.youtube.com/m?continue={quote(url, safe='')}&gl=DE&m=0&pc=yt")


def consent_host(hit: Hit) -> Reply:
    """consent.youtube.com: the page, and the form it sends."""
    form = {**hit.query}
    if hit.method == "POST" and hit.path in ("/s", "/save"):
        for pair in hit.body.decode("utf-8", "replace").split("&"):
            name, _, value = pair.partition("=")
            form.setdefault(name, value)
        cookies: Headers = [
            ("Set-Cookie", "SOCS=CAISAiAD; Domain=.youtube.com; Path=/; Secure"),
            ("Set-Cookie", "CONSENT=YES+cb; Domain=.youtube.com; Path=/; Secure"),
        ]
        target = unquote_plus(form.get("continue", "")) or "https://www.youtube.com/"
        return redirect(target, 303, cookies)
    if hit.path == "/m":
        return consent_page(hit.query.get("continue", "https://www.youtube.com/"))
    return html_reply("<html><title>Error 404</title></html>", 404)


def sorry_redirect(url: str) -> Reply:
    back = quote(url, safe="")
    return redirect(f"https://www.google.com/sorry/index?continue={back}&q=EgQreplicaIP")


def sorry_page(hit: Hit) -> Reply:
    back = escape(hit.query.get("continue", ""))
    token = escape(hit.query.get("q", ""))
    filler = "<!-- " + "unusual traffic " * 120 + "-->"
    return html_reply(
        f"<html><head><title>{back}</title></head><body>{filler}"
        '<form id="captcha-form" action="index" method="post">'
        '<div id="recaptcha" class="g-recaptcha" data-sitekey="replica"></div>'
        f'<input type="hidden" name="q" value="{token}">'
        f'<input type="hidden" name="continue" value="{back}"></form>'
        "<p>Our systems have detected unusual traffic from your computer network.</p>"
        "</body></html>",
        429,
    )


def captcha_page(status: int) -> Reply:
    """YouTube's own variant of the block page: no data at all in it."""
    return html_reply(
        "<!DOCTYPE html><html><head><title>YouTube</title></head><body>"
        '<form action="/das_captcha?fw=1" method="POST">'
        '<div class="g-recaptcha" data-sitekey="replica"></div></form></body></html>',
        status,
    )
