"""The watch page: HTML around the configuration, the player's answer and the initial data."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from .identity import chars, digest
from .player import player_response
from .template import compact, html_safe
from .watchnext import incomplete, watch_next

if TYPE_CHECKING:
    from .video import Video

API_KEY = "AIzaSyReplicaReplicaReplicaReplica00000"
CLIENT_VERSION = "2.20261102.01.00"
_AGENT = "Mozilla/5.0 (X11; Linux x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0,gzip(gfe)"


def visitor_data(seed: int) -> str:
    return f"Cgs{chars(digest('visitor', seed), 40)}%3D%3D"


@lru_cache(maxsize=1)
def _flags() -> str:
    """Experiment switches, the greater part of a real page's configuration."""
    flags: dict[str, Any] = {}
    for number in range(9000):
        raw = chars(digest("flag", number, size=9), 10).lower()
        flags[f"web_{raw}_enable_{number}"] = number % 3 == 0 if number % 5 else number * 37
    return compact(flags)


@lru_cache(maxsize=1)
def _style() -> str:
    return "".join(f".yt-{n}{{--a:{n * 7919 % 997}px;margin:0 {n % 9}px}}" for n in range(900))


def _config(video_id: str, hl: str, gl: str, visitor: str) -> str:
    client = {
        "hl": hl,
        "gl": gl,
        "remoteHost": "192.0.2.1",
        "deviceMake": "",
        "deviceModel": "",
        "visitorData": visitor,
        "userAgent": _AGENT,
        "clientName": "WEB",
        "clientVersion": CLIENT_VERSION,
        "osName": "X11",
        "osVersion": "",
        "originalUrl": f"https://www.youtube.com/watch?v={video_id}",
        "platform": "DESKTOP",
        "clientFormFactor": "UNKNOWN_FORM_FACTOR",
        "configInfo": {"appInstallData": chars(digest("install"), 40)},
        "browserName": "Chrome",
        "browserVersion": "140.0.0.0",
    }
    context = {
        "client": client,
        "user": {"lockedSafetyMode": False},
        "request": {"useSsl": True},
        "clickTracking": {"clickTrackingParams": "IhMIreplica"},
    }
    tail = compact(
        {
            "DEVICE": "cbr=Chrome&cbrver=140",
            "GL": gl,
            "HL": hl,
            "HTML_LANG": hl,
            "INNERTUBE_API_KEY": API_KEY,
            "INNERTUBE_API_VERSION": "v1",
            "INNERTUBE_CLIENT_NAME": "WEB",
            "INNERTUBE_CLIENT_VERSION": CLIENT_VERSION,
            "INNERTUBE_CONTEXT": context,
            "INNERTUBE_CONTEXT_CLIENT_NAME": 1,
            "INNERTUBE_CONTEXT_CLIENT_VERSION": CLIENT_VERSION,
            "INNERTUBE_CONTEXT_GL": gl,
            "INNERTUBE_CONTEXT_HL": hl,
            "LOGGED_IN": False,
            "PAGE_BUILD_LABEL": "youtube.desktop.web_20261102_01_RC00",
            "VISITOR_DATA": visitor,
            "XSRF_FIELD_NAME": "session_token",
        }
    )
    # "=" and "&" are escaped in the real configuration as well; the flags hold neither.
    tail = tail.replace("=", "\\u003d").replace("&", "\\u0026")
    return f'{{"EXPERIMENT_FLAGS":{_flags()},{tail[1:]}'


def _initial_data(video: Video | None, hl: str, visitor: str) -> tuple[str, str]:
    """(how it is embedded, JSON)"""
    kind = video.traits.initial_data if video else "var"
    if kind == "no_contents":
        return "var", incomplete(visitor)
    return kind, watch_next(video, hl, visitor)


def watch_page(
    video: Video | None,
    video_id: str,
    now: int,
    *,
    hl: str,
    gl: str = "US",
    visitor: str,
    state: str = "",
) -> str:
    """The whole page, 0.6 MB like a real one; `state` overrides the video's own."""
    player = player_response(video, video_id, now, hl=hl, state=state, token=True)
    kind, data = _initial_data(video, hl, visitor)
    data = html_safe(data)
    match kind:
        case "element":
            blob = f'<script nonce="r" type="application/json" id="yt-initial-data">{data}</script>'
        case "window":
            blob = f'<script nonce="r">window["ytInitialData"] = {data};</script>'
        case _:
            blob = f'<script nonce="r">var ytInitialData = {data};</script>'
    title = escape(video.title) + " - YouTube" if video else "YouTube"
    return (
        f'<!DOCTYPE html><html style="font-size: 10px" lang="{escape(hl)}"><head>'
        f"<title>{title}</title>"
        '<script nonce="r">var ytcfg={d:function(){return window.yt}};'
        "window.ytcfg.set('EMERGENCY_BASE_URL', '\\/error_204?t\\x3djserror');</script>"
        f'<script nonce="r">(function() {{window.ytplayer={{}};\n'
        f"ytcfg.set({_config(video_id, hl, gl, visitor)}); "
        "window.ytcfg.obfuscatedData_ = [];})();</script>"
        f"<style>{_style()}</style>"
        f'<link rel="canonical" href="https://www.youtube.com/watch?v={escape(video_id)}">'
        '</head><body dir="ltr">'
        '<script nonce="r">var ytInitialPlayerResponse = '
        f"{html_safe(compact(player))};var meta = document.createElement('meta');</script>"
        f"{blob}"
        '<script nonce="r">ytcfg.set({"CSI_SERVICE_NAME": \'youtube\'});</script></body></html>'
    )


def embed_page(video_id: str, visitor: str) -> str:
    """The page of the embedded player, which some clients ask when a video is age-gated."""
    config = _config(video_id, "en", "US", visitor)
    config = config.replace('"clientName":"WEB"', '"clientName":"WEB_EMBEDDED_PLAYER"')
    return (
        "<!DOCTYPE html><html><head><title>YouTube</title></head><body>"
        f'<script nonce="r">ytcfg.set({config});</script></body></html>'
    )


def sw_data(visitor: str, hl: str, gl: str) -> bytes:
    """/sw.js_data: the same facts as the page's configuration in 2 KB of nested lists."""
    client: list[Any] = [None] * 60
    client[0], client[1], client[3] = hl, gl, "192.0.2.1"
    client[13], client[14], client[15], client[16] = visitor, _AGENT, 1, CLIENT_VERSION
    client[17], client[24] = "X11", "https://www.youtube.com/sw.js_data"
    rest = [[client], API_KEY, None, None, "", None, None, None, None, visitor]
    return (")]}'\n\n" + compact([["yt.sw.adr", None, rest, "Vreplica||"]])).encode()
