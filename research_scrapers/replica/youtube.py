"""YouTube's web hosts: watch pages, innertube calls and what may stand in between."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from . import gates, timedtext
from .dataapi import API_HOSTS, DataApi
from .paging import main_page, reply_page
from .player import player_response
from .render import PageRenderer
from .tokens import BadToken, Token, decode
from .transcript import get_panel, get_transcript, place_key
from .watch import embed_page, sw_data, visitor_data, watch_page
from .watchnext import incomplete, watch_next
from .wire import Hit, Place, Reply, google_error, html_reply, json_reply, redirect

if TYPE_CHECKING:
    from .video import Video
    from .world import World

_WEB = frozenset(("www.youtube.com", "youtube.com", "m.youtube.com"))
_INNERTUBE = _WEB | {"youtubei.googleapis.com"}
# States that refuse to show comments even to a client that builds its own first token.
_CLOSED = frozenset(("comments_off", "no_section", "age_gated", "members_only", "region_blocked"))


def locale_of(hl: str) -> str:
    if hl.startswith("de"):
        return "de"
    return "en-GB" if hl in ("en-GB", "en-AU", "en-IN") else "en"


def _invalid() -> Reply:
    message = "Request contains an invalid argument."
    return google_error(400, message, "badRequest", "INVALID_ARGUMENT")


def _client(body: dict[str, Any]) -> dict[str, Any]:
    context = body.get("context")
    client = context.get("client") if isinstance(context, dict) else None
    return client if isinstance(client, dict) else {}


def _asked_video(body: dict[str, Any]) -> str:
    """The video of a `player` call, or of the one inside a `reel_item_watch` call."""
    inner = body.get("playerRequest")
    return str((inner if isinstance(inner, dict) else body).get("videoId", ""))


class YouTube:
    """The site object of all YouTube and Google hosts the replica plays."""

    hosts = _INNERTUBE | API_HOSTS | {"consent.youtube.com", "www.google.com"}

    def __init__(
        self,
        world: World,
        *,
        robots: str = "real",
        api_key: str = "replica-key",
        quota: int = 10_000,
        cache_pages: int = 0,
    ) -> None:
        self.world, self.robots = world, robots
        self._page = lru_cache(maxsize=cache_pages)(self._make_page)
        self.visitor = visitor_data(world.seed)
        self.api = DataApi(world, api_key=api_key, quota=quota)

    # -- routing ---------------------------------------------------------------------------

    def place(self, hit: Hit) -> Place:
        if hit.host in API_HOSTS and hit.path.startswith("/youtube/v3/"):
            return self.api.place(hit)
        if hit.path == "/watch":
            vid = hit.query.get("v", "")
            return Place(f"watch:{vid}", vid)
        if hit.path == timedtext.PATH:
            return timedtext.place(hit)
        if hit.path.startswith("/youtubei/v1/"):
            body = hit.json()
            endpoint = hit.path.rpartition("/")[2]
            if endpoint in ("get_transcript", "get_panel"):
                return Place(*place_key(endpoint, str(body.get("params", ""))))
            if endpoint in ("player", "reel_item_watch"):
                vid = _asked_video(body)
                return Place(f"{endpoint}:{vid}:{_client(body).get('clientName', '')}", vid)
            token = body.get("continuation")
            if isinstance(token, str):
                plain = unquote(token).rstrip("=")
                try:
                    return Place(f"{endpoint}:{plain}", decode(token).video_id)
                except BadToken:
                    return Place(f"{endpoint}:{plain}")
            vid = str(body.get("videoId", ""))
            return Place(f"{endpoint}:{vid}", vid)
        return Place(hit.target)

    def handle(self, hit: Hit) -> Reply:
        if hit.path == "/robots.txt":
            return gates.robots(hit.host, self.robots)
        if hit.host == "consent.youtube.com":
            return gates.consent_host(hit)
        if hit.host == "www.google.com":
            if hit.path.startswith("/sorry"):
                return gates.sorry_page(hit)
            return html_reply("<html><title>Google</title></html>", 404)
        if hit.host in API_HOSTS and hit.path.startswith("/youtube/v3/"):
            return self.api.handle(hit)
        if hit.path.startswith("/youtubei/v1/"):
            return self._innertube(hit)
        if hit.host == "youtube.com":
            return redirect(f"https://www.youtube.com{hit.target}", 301)
        if hit.path == "/watch":
            return self._watch(hit)
        if hit.path == timedtext.PATH:
            return timedtext.answer(self.world, hit)
        if hit.path.startswith("/embed/"):
            return html_reply(embed_page(hit.path.removeprefix("/embed/"), self.visitor))
        if hit.path == "/sw.js_data":
            headers = [
                ("Content-Type", "application/json; charset=utf-8"),
                ("Content-Disposition", 'attachment; filename="response.bin"'),
            ]
            return Reply(200, sw_data(self.visitor, hit.query.get("hl", "en"), "US"), headers)
        if hit.path == "/":
            return html_reply("<html><title>YouTube</title></html>")
        return html_reply("<html><title>404 Not Found</title></html>", 404)

    # -- pages -----------------------------------------------------------------------------

    def _watch(self, hit: Hit, state: str = "") -> Reply:
        vid = hit.query.get("v", "")
        video = self.world.videos.get(vid)
        url = f"https://{hit.host}{hit.target}"
        if video is not None and not state:
            if video.state == "sorry":
                return gates.sorry_redirect(url)
            if video.state == "consent_redirect" and not gates.consent_given(hit):
                return gates.consent_redirect(url)
            if video.state == "consent_form" and not gates.consent_given(hit):
                return gates.consent_page(url)
        hl = hit.query.get("hl", "en")
        text = watch_page(
            video,
            vid,
            self.world.now,
            hl=hl,
            gl=hit.query.get("gl", "US"),
            visitor=self.visitor,
            state=state,
        )
        cookies = [("Set-Cookie", "YSC=replica; Domain=.youtube.com; Path=/; Secure; HttpOnly")]
        return html_reply(text, 200, cookies)

    def _innertube(self, hit: Hit) -> Reply:
        if hit.method != "POST":
            return google_error(404, "Not Found", "notFound", "NOT_FOUND")
        body = hit.json()
        client = _client(body)
        if not client.get("clientName"):
            return _invalid()
        match hit.path.removeprefix("/youtubei/v1/"):
            case "next":
                return self._next(body, locale_of(str(client.get("hl", "en"))))
            case "player":
                return json_reply(self._player(body))
            case "reel/reel_item_watch":
                vid = _asked_video(body)
                video = self.world.videos.get(vid)
                gone = video is None or video.state == "removed"
                return json_reply({} if gone else {"playerResponse": self._player(body)})
            case "get_transcript":
                return get_transcript(self.world, str(body.get("params", "")))
            case "get_panel":
                return get_panel(self.world, str(body.get("panelId", "")), str(body.get("params", "")))
            case "visitor_id":
                return json_reply({"responseContext": {"visitorData": self.visitor}})
        return google_error(404, "Requested entity was not found.", "notFound", "NOT_FOUND")

    def _player(self, body: dict[str, Any], state: str = "") -> dict[str, Any]:
        vid, client = _asked_video(body), _client(body)
        return player_response(
            self.world.videos.get(vid),
            vid,
            self.world.now,
            client=str(client.get("clientName", "WEB")),
            hl=str(client.get("hl", "en")),
            state=state,
            token=bool(body.get("serviceIntegrityDimensions")),
        )

    def _next(self, body: dict[str, Any], locale: str) -> Reply:
        text = body.get("continuation")
        if text is None:
            vid = body.get("videoId")
            if not isinstance(vid, str) or not vid:
                return _invalid()
            answer = watch_next(self.world.videos.get(vid), locale, self.visitor)
            return json_reply(answer.encode("utf-8", "surrogatepass"))
        try:
            token = decode(str(text))
        except BadToken:
            return _invalid()
        video = self.world.videos.get(token.video_id)
        if video is None or video.state in _CLOSED:
            return json_reply(incomplete(self.visitor).encode())
        return self._comments(video, token, locale)

    def _comments(self, video: Video, token: Token, locale: str) -> Reply:
        failure, body = self._page(video, video.version, token, locale)
        if failure == "incomplete":
            return json_reply(incomplete(self.visitor).encode())
        if failure:
            return google_error(500, "Internal error encountered.", "backendError", "INTERNAL")
        return json_reply(body)

    def _make_page(self, video: Video, version: int, token: Token, locale: str) -> tuple[str, bytes]:
        """(how it fails, page); the version only keeps a cached page from outliving a change."""
        page = main_page(video, token) if token.kind == "main" else reply_page(video, token)
        if page is None:
            return "incomplete", b""
        if page.failure:
            return page.failure, b""
        return "", PageRenderer(video, token, locale, self.visitor).page(page)

    # -- for the server --------------------------------------------------------------------

    def special(self, name: str, hit: Hit) -> Reply:
        url = f"https://{hit.host}{hit.target}"
        match name:
            case "bot_check" if hit.path == "/watch":
                return self._watch(hit, state="bot_check")
            case "bot_check":
                answer = self._player(hit.json(), state="bot_check")
                return json_reply({"playerResponse": answer} if hit.path.endswith("/reel_item_watch") else answer)
            case "consent":
                return gates.consent_page(url)
            case "consent_redirect":
                return gates.consent_redirect(url)
            case "sorry":
                return gates.sorry_redirect(url)
            case "captcha":
                return gates.captcha_page(429)
            case "incomplete":
                return json_reply(incomplete(self.visitor).encode())
            case "rate_limit":
                text = "Rate Limit Exceeded"
                return self.api.error(403, text, "rateLimitExceeded", "usageLimits")
        raise ValueError(f"unknown special page {name!r}")

    def truth(self, only: str = "", texts: bool = True) -> dict[str, Any]:
        out = {}
        for vid in self.world.videos:
            if only and vid != only:
                continue
            truth = self.world.truth(vid, texts=texts)
            out[vid] = {
                "state": truth.state,
                "expected": truth.expected,
                "claimed": truth.claimed,
                "parents": truth.parents,
                "texts": truth.texts,
                "unobtainable": sorted(truth.unobtainable),
                "captions": truth.captions,
                "tracks": [asdict(track) for track in truth.tracks],
                "default_track": truth.default_track,
            }
        return out

    def mutate(self, change: dict[str, Any]) -> list[str]:
        return self.world.mutate(change)

    def reset(self) -> None:
        self.api.used = 0
