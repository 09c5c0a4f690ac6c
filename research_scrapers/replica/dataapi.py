"""YouTube Data API v3: commentThreads, comments and videos, with keys and quota."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any
from zlib import crc32

from .model import READABLE, Comment
from .player import iso, thumbnails
from .wire import Hit, Place, Reply, json_reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .video import Video
    from .world import World

API_HOSTS = frozenset(("www.googleapis.com", "youtube.googleapis.com"))
_LINK = '<code><a href="/youtube/v3/docs/commentThreads/list#{0}">{0}</a></code>'
_HIDDEN = frozenset(("private", "removed"))


class _Problem(Exception):
    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


class DataApi:
    """`used` counts quota units; every answered call costs one, wrong ones too."""

    def __init__(self, world: World, *, api_key: str, quota: int) -> None:
        self.world, self.api_key, self.quota = world, api_key, quota
        self.used = 0

    def place(self, hit: Hit) -> Place:
        kept = {k: v for k, v in hit.query.items() if k not in ("key", "prettyPrint")}
        name = hit.path.rpartition("/")[2]
        asked = "&".join(f"{key}={kept[key]}" for key in sorted(kept))
        return Place(f"{name}?{asked}", kept.get("videoId", ""))

    def handle(self, hit: Hit) -> Reply:
        try:
            reply = self._answer(hit)
        except _Problem as problem:
            return problem.reply
        etag = f'"{crc32(reply.body):08x}"'
        reply.headers.append(("ETag", etag))
        if hit.headers.get("if-none-match") == etag:
            return Reply(304, b"", [("ETag", etag)])
        return reply

    @staticmethod
    def error(status: int, message: str, reason: str, domain: str, code: str = "", **where: Any) -> Reply:
        detail = {"message": message, "domain": domain, "reason": reason, **where}
        error: dict[str, Any] = {"code": status, "message": message, "errors": [detail]}
        if code:
            error["status"] = code
        return json_reply({"error": error}, status)

    def _answer(self, hit: Hit) -> Reply:
        if hit.method != "GET":
            raise _Problem(self.error(405, "Method not allowed", "httpMethodNotAllowed", "global"))
        self._check_key(hit)
        if self.used >= self.quota:
            message = (
                "The request cannot be completed because you have exceeded your "
                '<a href="/youtube/v3/getting-started#quota">quota</a>.'
            )
            raise _Problem(self.error(403, message, "quotaExceeded", "youtube.quota"))
        self.used += 1
        if "part" not in hit.query:
            message = "No filter selected. Required parameter: part"
            problem = self.error(
                400,
                message,
                "missingRequiredParameter",
                "youtube.parameter",
                location="part",
                locationType="parameter",
            )
            raise _Problem(problem)
        match hit.path.removeprefix("/youtube/v3/"):
            case "commentThreads":
                return self._threads(hit)
            case "comments":
                return self._comments(hit)
            case "videos":
                return self._videos(hit)
        raise _Problem(self.error(404, "Not Found", "notFound", "global"))

    def _check_key(self, hit: Hit) -> None:
        key = hit.query.get("key") or hit.headers.get("x-goog-api-key")
        if key == self.api_key:
            return
        message = "API key not valid. Please pass a valid API key."
        detail = {"message": message, "domain": "global", "reason": "badRequest"}
        info = {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": {"service": "youtube.googleapis.com"},
        }
        error = {
            "code": 400,
            "message": message,
            "errors": [detail],
            "status": "INVALID_ARGUMENT",
            "details": [info],
        }
        raise _Problem(json_reply({"error": error}, 400))

    def _bad(self, reason: str, message: str, location: str) -> _Problem:
        return _Problem(
            self.error(
                400,
                message,
                reason,
                "youtube.parameter",
                location=location,
                locationType="parameter",
            )
        )

    def _size(self, hit: Hit, largest: int = 100) -> int:
        text = hit.query.get("maxResults", "20")
        if not text.isdigit() or not 1 <= int(text) <= largest:
            message = f"Invalid value '{text}'. Values must be within the range: [1, {largest}]"
            raise self._bad("invalidValue", message, "maxResults")
        return int(text)

    def _cursor(self, hit: Hit, scope: str) -> int | None:
        """The place a page token stands for; tokens of another list are refused."""
        text = hit.query.get("pageToken")
        if not text:
            return None
        try:
            raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
            name, _, number = raw.decode().rpartition(":")
            if name != scope:
                raise ValueError("token of another list")
            return int(number)
        except (Base64Error, ValueError):
            message = "The request specifies an invalid page token."
            raise self._bad("invalidPageToken", message, "pageToken") from None

    @staticmethod
    def _token(scope: str, number: int) -> str:
        return urlsafe_b64encode(f"{scope}:{number}".encode()).decode().rstrip("=")

    # -- comments --------------------------------------------------------------------------

    def _video(self, vid: str) -> Video:
        video = self.world.videos.get(vid)
        where = {"location": "videoId", "locationType": "parameter"}
        link = _LINK.format("videoId")
        if video is None or video.state in _HIDDEN:
            message = f"The video identified by the {link} parameter could not be found."
            problem = self.error(404, message, "videoNotFound", "youtube.commentThread", **where)
            raise _Problem(problem)
        if video.state != "zero" and video.state not in READABLE | {"sorry", "unavailable_next"}:
            message = f"The video identified by the {link} parameter has disabled comments."
            problem = self.error(403, message, "commentsDisabled", "youtube.commentThread", **where)
            raise _Problem(problem)
        return video

    def _threads(self, hit: Hit) -> Reply:
        query = hit.query
        if "id" in query:
            return self._threads_by_id(hit)
        if "videoId" not in query:
            message = "No filter selected. Expected one of: id, videoId, channelId, postId"
            raise self._bad("missingRequiredParameter", message, "parameters.")
        size, order = self._size(hit), query.get("order", "time")
        if order not in ("time", "relevance"):
            raise self._bad("invalidValue", f"Invalid value '{order}'.", "order")
        video = self._video(query["videoId"])
        scope = f"{video.id}/{order}"
        cursor = self._cursor(hit, scope)
        run: Iterator[tuple[int, int]]
        if order == "time":
            run = ((seq, seq) for seq in video.newest(cursor))
        else:
            run = video.top(0 if cursor is None else cursor + 1)
        chosen = list(islice(run, size))
        items = [self._thread(video, seq, hit) for _, seq in chosen]
        more = self._token(scope, chosen[-1][0]) if next(run, None) is not None else ""
        return self._list("commentThreadListResponse", items, size, more)

    def _threads_by_id(self, hit: Hit) -> Reply:
        items = []
        for cid in hit.query["id"].split(","):
            found = self._find(cid)
            if found is not None and found[2] < 0:
                items.append(self._thread(found[0], found[1], hit))
        return self._list("commentThreadListResponse", items, len(items), "")

    def _find(self, cid: str) -> tuple[Video, int, int] | None:
        for video in self.world.videos.values():
            place = video.place_of(cid)
            if place is not None:
                return video, place[0], place[1]
        return None

    def _comments(self, hit: Hit) -> Reply:
        plain = hit.query.get("textFormat") == "plainText"
        if "id" in hit.query:
            items = []
            for cid in hit.query["id"].split(","):
                found = self._find(cid)
                if found is not None:
                    video, seq, number = found
                    comment = video.comment(seq) if number < 0 else video.reply(seq, number)
                    items.append(self._comment(video, comment, plain))
            return self._list("commentListResponse", items, len(items), "")
        if "parentId" not in hit.query:
            message = "No filter selected. Expected one of: id, parentId"
            raise self._bad("missingRequiredParameter", message, "parameters.")
        size, parent = self._size(hit), hit.query["parentId"]
        found = self._find(parent)
        if found is None or found[2] >= 0:
            message = "One or more of the specified comments cannot be found."
            problem = self.error(404, message, "commentNotFound", "youtube.comment")
            raise _Problem(problem)
        video, seq, _ = found
        cursor = self._cursor(hit, parent)
        numbers = [n for n in reversed(video.live_replies(seq)) if cursor is None or n < cursor]
        items = [self._comment(video, video.reply(seq, n), plain) for n in numbers[:size]]
        more = self._token(parent, numbers[size - 1]) if len(numbers) > size else ""
        return self._list("commentListResponse", items, size, more)

    def _thread(self, video: Video, seq: int, hit: Hit) -> dict[str, Any]:
        plain = hit.query.get("textFormat") == "plainText"
        parts = hit.query["part"].split(",")
        comment = video.comment(seq)
        thread: dict[str, Any] = {
            "kind": "youtube#commentThread",
            "etag": video.etag("thread", seq),
            "id": comment.id,
        }
        if "snippet" in parts:
            thread["snippet"] = {
                "channelId": video.channel.channel_id,
                "videoId": video.id,
                "topLevelComment": self._comment(video, comment, plain),
                "canReply": True,
                "totalReplyCount": comment.reply_total,
                "isPublic": True,
            }
        if "replies" in parts and comment.reply_total:
            # A sample only: at most five, newest first, now and then fewer than could be.
            numbers = video.live_replies(seq)[::-1]
            shown = min(len(numbers), 5 if seq % 3 else 3)
            replies = [video.reply(seq, number) for number in numbers[:shown]]
            thread["replies"] = {"comments": [self._comment(video, r, plain) for r in replies]}
        return thread

    def _comment(self, video: Video, comment: Comment, plain: bool) -> dict[str, Any]:
        text = comment.text
        html = escape(text, quote=False).replace("'", "&#39;").replace('"', "&quot;")
        snippet: dict[str, Any] = {
            "channelId": video.channel.channel_id,
            "videoId": video.id,
            "textDisplay": text if plain else html.replace("\n", "<br>"),
            "textOriginal": text,
            "authorDisplayName": comment.author.name,
            "authorProfileImageUrl": f"https://yt3.ggpht.com/ytc/{comment.author.channel_id}=s48",
            "authorChannelUrl": f"http://www.youtube.com/{comment.author.name}",
            "authorChannelId": {"value": comment.author.channel_id},
            "canRate": True,
            "viewerRating": "none",
            "likeCount": comment.likes,
            "publishedAt": iso(comment.created),
            "updatedAt": iso(comment.created + (3_600 if comment.edited else 0)),
        }
        if comment.parent_id is not None:
            # The API knows one level: nested replies belong to the root as well.
            snippet["parentId"] = comment.root_id
        return {
            "kind": "youtube#comment",
            "etag": video.etag(comment.id),
            "id": comment.id,
            "snippet": snippet,
        }

    @staticmethod
    def _list(kind: str, items: list[dict[str, Any]], size: int, more: str) -> Reply:
        answer: dict[str, Any] = {"kind": f"youtube#{kind}", "etag": f"{len(items)}replica"}
        if more:
            answer["nextPageToken"] = more
        answer["pageInfo"] = {"totalResults": len(items), "resultsPerPage": size}
        answer["items"] = items
        return json_reply(answer)

    # -- videos ----------------------------------------------------------------------------

    def _videos(self, hit: Hit) -> Reply:
        parts = hit.query["part"].split(",")
        asked = hit.query.get("id", "").split(",")[:50]
        known = (self.world.videos.get(vid) for vid in asked)
        # Unknown, private and removed videos are left out without a word.
        items = [self._about(v, parts) for v in known if v is not None and v.state not in _HIDDEN]
        return self._list("videoListResponse", items, len(items), "")

    def _about(self, video: Video, parts: list[str]) -> dict[str, Any]:
        live = {"no_section": "live", "upcoming": "upcoming"}.get(video.state, "none")
        statistics = {"viewCount": str(video.views), "likeCount": "12", "favoriteCount": "0"}
        if video.state in READABLE or video.state == "zero":
            statistics["commentCount"] = str(video.claimed())
        names = {"default": 0, "medium": 1, "high": 2}
        images = thumbnails(video.id)["thumbnails"]
        details: dict[str, Any] = {"duration": "PT6M41S", "caption": "false", "contentRating": {}}
        if video.state == "age_gated":
            details["contentRating"] = {"ytRating": "ytAgeRestricted"}
        if video.state == "region_blocked":
            details["regionRestriction"] = {"blocked": ["DE", "US"]}
        everything: dict[str, Any] = {
            "snippet": {
                "publishedAt": iso(video.published),
                "channelId": video.channel.channel_id,
                "title": video.title,
                "description": "Invented for tests.",
                "thumbnails": {name: images[at] for name, at in names.items()},
                "channelTitle": video.channel_title,
                "categoryId": "27",
                "liveBroadcastContent": live,
                "localized": {"title": video.title, "description": "Invented for tests."},
            },
            "statistics": statistics,
            "status": {"uploadStatus": "processed", "privacyStatus": "public"},
            "contentDetails": details,
        }
        about = {"kind": "youtube#video", "etag": video.etag("video"), "id": video.id}
        return {**about, **{part: everything[part] for part in parts if part in everything}}
