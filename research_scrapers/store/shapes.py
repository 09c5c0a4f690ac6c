"""The same rows in the columns that other tools expect. Each keeps the coverage, so that a partial video shows.

Where a tool wants one second and the site tells an interval, the interval's beginning is given, and the interval
stands beside it.
"""

from __future__ import annotations

from dataclasses import replace

from research_scrapers.store.columns import COMMENTS, HELD, VIDEOS, Column, Table, columns

_SECOND = "strftime('{0}', {1})"
_URL = (
    "CASE {0}.provider WHEN 'bilibili' THEN 'https://www.bilibili.com/video/' || {0}.video_id"
    " ELSE 'https://www.youtube.com/watch?v=' || {0}.video_id END"
)
_AUTHOR_URL = (
    "CASE WHEN c.author_id IS NULL THEN NULL WHEN c.provider = 'bilibili' THEN 'https://space.bilibili.com/'"
    " || c.author_id ELSE 'https://www.youtube.com/channel/' || c.author_id END"
)
_PARENTS_NAME = (
    "(SELECT p.author_name FROM comments p WHERE p.provider = c.provider AND p.video_id = c.video_id"
    " AND p.comment_id = c.parent_id)"
)
_INTERVAL = (
    ("publishedText", "text", "what the site shows", "c.published_text"),
    ("publishedAfter", "text", "published at this time or later, UTC", "c.published_after"),
    ("publishedBefore", "text", "published at this time or earlier, UTC", "c.published_before"),
)


def _covered(alias: str = "k") -> tuple[Column, ...]:
    return columns(
        alias,
        ("coverage", "text", "what is held of this video: complete, empty, partial, failed", f"{alias}.coverage"),
        ("coverageReason", "text", "why it is not all, where it is not", f"{alias}.coverage_reason"),
    )


YTDT_COMMENTS = replace(
    COMMENTS,
    about="One comment or reply, as YouTube Data Tools writes it and 4CAT imports it.",
    columns=columns(
        "c",
        ("id", "text", "the comment's id", "c.comment_id"),
        ("replyCount", "integer", "replies that the site claims", "c.reply_count"),
        ("likeCount", "integer", "likes", "c.like_count"),
        ("publishedAt", "text", "the earliest moment at which it can have been published, UTC",
         _SECOND.format("%Y-%m-%d %H:%M:%S", "c.published_after")),
        ("authorName", "text", "the author's shown name", "coalesce(c.author_name, '')"),
        ("text", "text", "the comment"),
        ("authorChannelId", "text", "the author's id", "c.author_id"),
        ("authorChannelUrl", "text", "the author's page", _AUTHOR_URL),
        ("isReply", "integer", "1 for a reply", "c.parent_id IS NOT NULL"),
        ("isReplyTo", "text", "the comment that it answers", "c.parent_id"),
        ("isReplyToName", "text", "whose comment that is",
         _PARENTS_NAME),
        ("videoId", "text", "the video's id", "c.video_id"),
        *_INTERVAL,
    ) + _covered(),
)  # fmt: skip
YTDT_VIDEOS = replace(
    VIDEOS,
    about="One video, as YouTube Data Tools' Video List writes it and 4CAT imports it.",
    columns=columns(
        "v",
        ("channelId", "text", "the channel's id", "v.channel_id"),
        ("channelTitle", "text", "the channel's name", "v.channel_name"),
        ("videoId", "text", "the video's id", "v.video_id"),
        ("publishedAt", "text", "when it was published, UTC", _SECOND.format("%Y-%m-%dT%H:%M:%SZ", "v.published_at")),
        ("videoTitle", "text", "its title", "v.title"),
        ("videoDescription", "text", "its description, where it was collected",
         "coalesce(json_extract(v.extras, '$.description'), '')"),
        ("durationSec", "integer", "its length in seconds", "v.duration_s"),
        ("viewCount", "integer", "views", "v.view_count"),
        ("likeCount", "integer", "likes", "v.like_count"),
        ("commentCount", "integer", "comments that the site claims", "v.comment_count"),
        ("coverage", "text", "for each kind of record how its collection ended", "k.coverage"),
    ),
)  # fmt: skip
YCD_COMMENTS = replace(
    COMMENTS,
    type="",
    about="One comment or reply, as youtube-comment-downloader writes it.",
    columns=columns(
        "c",
        ("cid", "text", "the comment's id", "c.comment_id"),
        ("text", "text", "the comment"),
        ("time", "text", "when, as the site shows it", "coalesce(c.published_text, c.published_after)"),
        ("author", "text", "the author's shown name", "c.author_name"),
        ("channel", "text", "the author's id", "c.author_id"),
        ("votes", "text", "likes, as the site shows them",
         "CAST(coalesce(json_extract(c.extras, '$.like_count_text'), c.like_count, 0) AS TEXT)"),
        ("replies", "text", "replies that the site claims", "CAST(coalesce(c.reply_count, '') AS TEXT)"),
        ("photo", "text", "the author's picture", "coalesce(json_extract(c.extras, '$.avatar'), '')"),
        ("heart", "boolean", "hearted by the uploader", "c.is_hearted"),
        ("reply", "boolean", "whether it is a reply", "c.parent_id IS NOT NULL"),
        ("time_parsed", "real", "the earliest moment at which it can have been published, seconds since 1970",
         "CAST(" + _SECOND.format("%s", "c.published_after") + " AS REAL)"),
        ("paid", "text", "an amount that was paid with it", "c.paid_amount"),
        ("video_id", "text", "the video's id"),
    ) + _covered(),
)  # fmt: skip
YTDLP_COMMENTS = replace(
    COMMENTS,
    type="",
    about="One comment or reply, as yt-dlp writes it into info.json.",
    columns=columns(
        "c",
        ("provider", "text", "the site"),
        ("video_id", "text", "the video's id"),
        ("coverage", "text", "what is held of this video", "k.coverage"),
        ("coverageReason", "text", "why it is not all, where it is not", "k.coverage_reason"),
        ("id", "text", "the comment's id", "c.comment_id"),
        ("parent", "text", "the comment that it answers, or root", "coalesce(c.parent_id, 'root')"),
        ("text", "text", "the comment"),
        ("like_count", "integer", "likes"),
        ("author_id", "text", "the author's id"),
        ("author", "text", "the author's shown name", "c.author_name"),
        ("author_thumbnail", "text", "the author's picture", "json_extract(c.extras, '$.avatar')"),
        ("author_is_uploader", "boolean", "whether the video's own channel wrote it"),
        ("author_url", "text", "the author's page", _AUTHOR_URL),
        ("is_favorited", "boolean", "hearted by the uploader", "c.is_hearted"),
        ("is_pinned", "boolean", "pinned by the uploader"),
        ("_time_text", "text", "when, as the site shows it", "c.published_text"),
        ("timestamp", "integer", "the earliest moment at which it can have been published, seconds since 1970",
         "CAST(" + _SECOND.format("%s", "c.published_after") + " AS INTEGER)"),
    ),
    of_all=HELD.format(table="comments", alias="c", kind="comments")
    + " WHERE 1 {where} ORDER BY c.provider, c.video_id, c.id",
)  # fmt: skip
YTDLP_VIDEOS = replace(
    VIDEOS,
    type="",
    columns=columns(
        "v",
        ("id", "text", "the video's id", "v.video_id"),
        ("title", "text", "its title"),
        ("channel_id", "text", "the channel's id"),
        ("channel", "text", "the channel's name", "v.channel_name"),
        ("upload_date", "text", "when it was published", _SECOND.format("%Y%m%d", "v.published_at")),
        ("duration", "integer", "its length in seconds", "v.duration_s"),
        ("view_count", "integer", "views"),
        ("like_count", "integer", "likes"),
        ("language", "text", "its own language"),
        ("webpage_url", "text", "its address", _URL.format("v")),
        ("video_id", "text", "the video's id"),
        ("provider", "text", "the site"),
    ),
)  # fmt: skip

SHAPES: dict[str, dict[str, Table]] = {
    "ytdt": {"comments": YTDT_COMMENTS, "videos": YTDT_VIDEOS},
    "ycd": {"comments": YCD_COMMENTS},
    "ytdlp": {"comments": YTDLP_COMMENTS},
}
