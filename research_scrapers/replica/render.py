"""A page of comments as the bytes the site would send."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Any

from . import shapes, shapes_old, texts
from .header import header_items
from .identity import chars, digest
from .template import compact, quote
from .tokens import Token, encode

if TYPE_CHECKING:
    from .model import Comment, Run
    from .paging import Node, Page
    from .video import Video

_HEAD = b"\x12"
_FLAGS = {False: "false", True: "true"}
_TIME_URL = "/watch?v={video}&t={seconds}s"


def _key(text: str, tail: bytes) -> str:
    raw = _HEAD + bytes((len(text),)) + text.encode() + tail
    return urlsafe_b64encode(raw).decode().replace("=", "%3D")


def _seconds(stamp: str) -> int:
    minutes, _, seconds = stamp.partition(":")
    return int(minutes) * 60 + int(seconds)


def _command(run: Run, video: Video, ctp: str) -> dict[str, Any]:
    """Where a marked part of a text leads."""
    head = {"clickTrackingParams": ctp}

    def web(url: str, page: str) -> dict[str, Any]:
        return {"commandMetadata": {"webCommandMetadata": {"url": url, "webPageType": page, "rootVe": 3832}}}

    if run.kind == "time":
        seconds = _seconds(run.target)
        url = _TIME_URL.format(video=video.id, seconds=seconds)
        point = {"watchEndpoint": {"videoId": video.id, "startTimeSeconds": seconds}}
        return {**head, **web(url, "WEB_PAGE_TYPE_WATCH"), **point}
    if run.kind == "link":
        go = f"https://www.youtube.com/redirect?event=comments&q={run.target}"
        endpoint = {"url": go, "target": "TARGET_NEW_WINDOW", "nofollow": True}
        return {**head, **web(go, "WEB_PAGE_TYPE_UNKNOWN"), "urlEndpoint": endpoint}
    if run.kind == "hashtag":
        browse = {"browseId": "FEhashtag", "params": "6gUHCgVob3d0bw%3D%3D"}
        page = web("/hashtag/" + run.target.strip("#"), "WEB_PAGE_TYPE_BROWSE")
        return {**head, **page, "browseEndpoint": browse}
    url = "/" + run.target
    channel = {"browseId": run.channel_id, "canonicalBaseUrl": url}
    page = web(url, "WEB_PAGE_TYPE_CHANNEL")
    page["commandMetadata"]["webCommandMetadata"]["apiUrl"] = "/youtubei/v1/browse"
    return {**head, **page, "browseEndpoint": channel}


def _marks(comment: Comment, video: Video, ctp: str) -> str:
    """commandRuns, styleRuns and attachmentRuns of a text, as optional members."""
    commands: list[Any] = []
    styles: list[Any] = []
    pictures: list[Any] = []
    for run in comment.runs:
        span: dict[str, Any] = {"startIndex": run.start, "length": run.length}
        if run.kind == "bold":
            styles.append({**span, "weightLabel": "FONT_WEIGHT_MEDIUM"})
        elif run.kind == "emoji":
            size = {"value": 16, "unit": "DIMENSION_UNIT_POINT"}
            name = "_".join(f"u{ord(char):x}" for char in run.target)
            image = {"sources": [{"url": f"https://www.youtube.com/s/gaming/emoji/0/emoji_{name}.png"}]}
            element = {
                "type": {"imageType": {"image": image}},
                "properties": {"layoutProperties": {"height": size, "width": size}},
            }
            pictures.append({**span, "element": element, "alignment": "ALIGNMENT_VERTICAL_CENTER"})
        else:
            tap = {"innertubeCommand": _command(run, video, ctp)}
            commands.append({**span, "onTap": tap})
            styles.append({**span, "weightLabel": "FONT_WEIGHT_NORMAL"})
    parts = (("commandRuns", commands), ("styleRuns", styles), ("attachmentRuns", pictures))
    return "".join(f',"{name}":{compact(value)}' for name, value in parts if value)


def _old_content(comment: Comment, video: Video, ctp: str) -> str:
    """The text cut into runs, as the older generation has it in `contentText`."""
    if not comment.text:
        return "{}"
    units = comment.text.encode("utf-16-le", "surrogatepass")
    out: list[dict[str, Any]] = []
    at = 0

    def cut(start: int, end: int) -> str:
        return units[start * 2 : end * 2].decode("utf-16-le", "surrogatepass")

    for run in sorted(comment.runs, key=lambda run: run.start):
        if run.start > at:
            out.append({"text": cut(at, run.start)})
        piece: dict[str, Any] = {"text": cut(run.start, run.start + run.length)}
        if run.kind == "bold":
            piece["bold"] = True
        elif run.kind == "emoji":
            piece["emoji"] = {"emojiId": run.target, "shortcuts": [":sign:"]}
        else:
            piece["navigationEndpoint"] = _command(run, video, ctp)
        out.append(piece)
        at = run.start + run.length
    if at * 2 < len(units):
        out.append({"text": cut(at, len(units) // 2)})
    return compact({"runs": out})


class PageRenderer:
    """Writes one page; one per request, so that tracking strings differ between pages."""

    def __init__(self, video: Video, token: Token, locale: str, visitor: str) -> None:
        self.video, self.token, self.visitor = video, token, visitor
        self.locale = video.traits.locale or locale
        stamp = chars(digest("page", video.id, token.cursor, token.hop, size=15), 20)
        self.stamp = stamp
        self.ctp = f"CAAQg2ciEwi{stamp}"
        self.old = video.traits.generation == "commentRenderer"
        self.count = 0
        self.owner_avatar = _avatar(video.channel.channel_id)
        # Bytes: one emoji in a text must not turn the whole page into a wide string.
        self.entities: list[bytes] = []

    # -- one comment -----------------------------------------------------------------------

    def _values(self, comment: Comment) -> dict[str, Any]:
        self.count += 1
        cid, author, locale = comment.id, comment.author, self.locale
        long_id = cid + "/12"
        likes = texts.short_count(comment.likes, locale)
        replies = comment.reply_total
        if locale == "de":
            likes_a11y = f'{likes}\xa0"Mag ich"-Bewertungen'
            replies_a11y = f"{replies} Antwort{'' if replies == 1 else 'en'}"
        else:
            likes_a11y = f"{likes} like{'' if comment.likes == 1 else 's'}"
            replies_a11y = f"{replies} repl{'y' if replies == 1 else 'ies'}"
        comment_key = _key(cid, b" ((\x01")
        return {
            "id": cid,
            "video": self.video.id,
            "k_comment": comment_key,
            "k_state": _key(cid, b" ,(\x01"),
            "k_translate": _key(cid, b" \xff\x01(\x01"),
            "k_toolbar": _key(long_id, b" F(\x01"),
            "k_surface": _key(long_id, b" O(\x01"),
            "text": quote(comment.text),
            "time": texts.relative_time(self.video.now - comment.created, locale, comment.edited),
            "level": comment.level,
            "handle": author.name,
            "badge": ", verified user" if author.verified else "",
            "channel": author.channel_id,
            "avatar": _avatar(author.channel_id),
            "verified": _FLAGS[author.verified],
            "creator": _FLAGS[comment.is_creator],
            # A blank stands for "no likes", also on the real site.
            "likes": likes if comment.likes else " ",
            "likes_n": likes,
            "liked": texts.short_count(comment.likes + 1, locale),
            "likes_a11y": quote(likes_a11y),
            "replies": texts.short_count(replies, locale) if replies else "",
            "replies_a11y": replies_a11y,
            "heart": "HEARTED" if comment.hearted else "UNHEARTED",
            "owner": self.video.channel.name,
            "owner_avatar": self.owner_avatar,
            "tp": f"C{self.count:02d}QtnUiEwi{self.stamp}",
            "ctp": self.ctp,
            "report": comment_key * 4,
            "now_ms": f"{self.video.now}000",
        }

    def _new(self, comment: Comment, values: dict[str, Any], pinned: bool) -> str:
        values["runs"] = _marks(comment, self.video, self.ctp) if comment.runs else ""
        values["nesting"] = ""
        if self.video.traits.nested:
            values["nesting"] = f',"relativeNestingLevel":{comment.level}'
        values["member"] = ""
        if comment.member:
            badge = "https://yt3.ggpht.com/member-badge=s16-c-k"
            values["member"] = f',"sponsorBadgeUrl":"{badge}","sponsorBadgeA11y":"{comment.member}"'
        values["thanks"] = ""
        if comment.super_thanks:
            values["thanks"] = ',"pdgCommentChip":' + _chip(comment.super_thanks, self.ctp)
        values["pinned"] = f',"pinnedText":"Pinned by {self.video.channel.name}"' if pinned else ""
        self.entities.append(shapes.ENTITIES(values).encode("utf-8", "surrogatepass"))
        return shapes.VIEW_MODEL(values)

    def _legacy(self, comment: Comment, values: dict[str, Any], pinned: bool) -> str:
        values["content"] = _old_content(comment, self.video, self.ctp)
        values["creator_heart"] = ""
        if comment.hearted:
            heart = {"creatorHeartRenderer": {"isHearted": True, "isEnabled": False}}
            values["creator_heart"] = f',"creatorHeart":{compact(heart)}'
        extras: dict[str, Any] = {}
        if comment.likes:
            label = {"accessibilityData": {"label": f"{values['likes_n']} likes"}}
            extras["voteCount"] = {"accessibility": label, "simpleText": values["likes_n"]}
        if comment.reply_total:
            extras["replyCount"] = comment.reply_total
        if pinned:
            label_runs = {"runs": [{"text": "Pinned by "}, {"text": self.video.channel.name}]}
            color = {"basicColorPaletteData": {"foregroundTitleColor": 1712394513}}
            badge = {"icon": {"iconType": "KEEP"}, "label": label_runs, "color": color}
            extras["pinnedCommentBadge"] = {"pinnedCommentBadgeRenderer": badge}
        if comment.author.verified:
            extras["authorCommentBadge"] = "verified"
        if comment.member:
            extras["sponsorCommentBadge"] = {"sponsorCommentBadgeRenderer": {"tooltip": comment.member}}
        verified = shapes_old.VERIFIED(values)
        text = "".join(
            f',"{name}":{verified if value == "verified" else compact(value)}' for name, value in extras.items()
        )
        if comment.super_thanks:
            text += ',"paidCommentChipRenderer":' + _chip(comment.super_thanks, self.ctp)
        values["extras"] = text
        return shapes_old.COMMENT(values)

    # -- items -----------------------------------------------------------------------------

    def more(self, token: Token, kind: str) -> str:
        values = {"token": encode(token), "ctp": self.ctp, "tp": f"CAEQvnUiEwi{self.stamp}"}
        return shapes.MORE[kind](values)

    def thread(self, node: Node) -> str:
        values = self._values(node.comment)
        if self.old:
            comment = ',"comment":' + self._legacy(node.comment, values, node.pinned)
        else:
            model = self._new(node.comment, values, node.pinned)
            comment = f',"commentViewModel":{{"commentViewModel":{model}}}'
        values["comment"] = comment
        values["priority"] = "PINNED_COMMENT" if node.pinned else "UNKNOWN"
        values["replies"] = ""
        if node.children or node.more:
            items = [self.thread(child) for child in node.children]
            if node.more is not None:
                # A thread that already shows replies offers a button, a closed one loads at once.
                kind = self.video.traits.more_kind if node.children else "endpoint"
                items.append(self.more(node.more, kind))
            values["list"] = "subThreads" if self.video.traits.nested else "contents"
            values["items"] = f"[{','.join(items)}]"
            values["creator_thumb"] = ""
            values["replies"] = ',"replies":' + shapes.REPLIES(values)
        return shapes.THREAD(values)

    def reply(self, node: Node) -> str:
        if self.video.traits.nested:
            return self.thread(node)
        values = self._values(node.comment)
        if self.old:
            return self._legacy(node.comment, values, False)
        return f'{{"commentViewModel":{self._new(node.comment, values, False)}}}'

    # -- the answer ------------------------------------------------------------------------

    def page(self, page: Page) -> bytes:
        replies = self.token.kind == "replies"
        items = [self.reply(node) if replies else self.thread(node) for node in page.nodes]
        if page.next is not None:
            kind = self.video.traits.more_kind if replies else "endpoint"
            items.append(self.more(page.next, kind))
        target = quote(self.token.target)
        head = f'{{"clickTrackingParams":"{self.ctp}"'
        # An empty repeated field is left out of the JSON altogether.
        listed = f'"continuationItems":[{",".join(items)}],' if items else ""
        if page.first and not replies:
            header = header_items(self.video, self.token, self.locale, self.ctp)
            command = f'{head},"reloadContinuationItemsCommand":{{"targetId":{target},'
            endpoints = (
                f'{command}"continuationItems":[{header}],'
                f'"slot":"RELOAD_CONTINUATION_SLOT_HEADER"}}}},'
                f'{command}{listed}"slot":"RELOAD_CONTINUATION_SLOT_BODY"}}}}'
            )
        else:
            action = f'{head},"appendContinuationItemsAction":{{'
            endpoints = f'{action}{listed}"targetId":{target}}}}}'
        text = (
            f'{{"responseContext":{context(self.visitor)},"trackingParams":"{self.ctp}",'
            f'"onResponseReceivedEndpoints":[{endpoints}]'
        ).encode("utf-8", "surrogatepass")
        if self.old:
            return text + b"}"
        mutations = self.entities
        if not replies:
            owner = {"owner": self.video.channel.name, "tp": self.ctp}
            mutations = [shapes.SHARED(owner).encode(), *mutations]
        opening = b',"frameworkUpdates":{"entityBatchUpdate":{"mutations":['
        closing = f'],"timestamp":{{"seconds":"{self.video.now}","nanos":0}}}}}}}}'.encode()
        return b"".join((text, opening, b",".join(mutations), closing))


def _avatar(channel_id: str) -> str:
    return f"https://yt3.ggpht.com/ytc/AIdro_{channel_id[2:]}{channel_id[2:]}=s88-c-k-c0x00ffffff-no-rj"


def _chip(amount: str, ctp: str) -> str:
    return compact(
        {
            "pdgCommentChipRenderer": {
                "chipText": {"simpleText": amount},
                "chipColorPalette": {
                    "backgroundColor": 4278248959,
                    "foregroundTitleColor": 4278190080,
                },
                "chipIcon": {"iconType": "FILL_DOLLAR_SIGN_HEART_12"},
                "trackingParams": ctp,
            }
        }
    )


def context(visitor: str) -> str:
    service = {"service": "CSI", "params": [{"key": "c", "value": "WEB"}]}
    return compact(
        {
            "visitorData": visitor,
            "serviceTrackingParams": [service],
            "mainAppWebResponseContext": {"loggedOut": True, "trackingParam": "k5_fmPxh" * 9},
            "responseId": "IhMIjoXdz72zlQMVbsZJBx2n4idX",
            "webResponseContextExtensionData": {"hasDecorated": True},
        }
    )
