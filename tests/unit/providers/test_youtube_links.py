"""Links: every form that names a video, and a helpful word for everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research_scrapers.errors import LinkNotRecognised
from research_scrapers.providers.youtube.links import link, recognise

ID = "dQw4w9WgXcQ"

ACCEPTED = [
    ID,
    f"  {ID}\n",
    f'"{ID}"',
    "-_-_-_-_-_8",
    f"https://www.youtube.com/watch?v={ID}",
    f"HTTP://WWW.YouTube.COM/watch?v={ID}",
    f"//youtube.com/watch?v={ID}",
    f"youtube.com/watch?v={ID}",
    f"https://youtube.com:443/watch?v={ID}",
    f"https://www.youtube.com./watch?v={ID}",
    f"https://www.youtube.com/watch/?v={ID}",
    f"https://www.youtube.com/watch?list=PLabc&v={ID}&t=1h2m3s",
    f"https://www.youtube.com/watch?feature=share&amp;v={ID}",
    f"https://www.youtube.com/watch?app=desktop;v={ID}",
    f"https://www.youtube.com/watch?v={ID}?si=glued",
    f"https://www.youtube.com/watch?v={ID}#t=30",
    f"https://www.youtube.com/watch?v%3D{ID}&v={ID}",
    f"https://www.youtube.com/watch_popup?v={ID}",
    f"https://www.youtube.com/movie?v={ID}",
    f"https://www.youtube.com/?v={ID}",
    f"https://www.youtube.com/watch#!v={ID}",
    f"https://www.youtube.com/#!v={ID}&feature=x",
    f"https://m.youtube.com/#/watch?v={ID}",
    f"https://www.youtube.com/watch/{ID}",
    f"https://www.youtube.com/w/{ID}",
    f"https://www.youtube.com/v/{ID}",
    f"https://www.youtube.com/v/{ID}&hl=en&fs=1",
    f"https://www.youtube.com/e/{ID}",
    f"https://www.youtube.com/embed/{ID}?autoplay=1",
    f"https://www.youtube.com/shorts/{ID}",
    f"https://www.youtube.com/shorts/{ID}/",
    f"https://www.youtube.com/live/{ID}?feature=share",
    f"https://youtu.be/{ID}",
    f"youtu.be/{ID}?t=3",
    f"https://youtu.be/watch?v={ID}",
    f"https://youtu.be/shorts/{ID}",
    f"https://youtu.be/aaaaaaaaaaA?v={ID}",
    f"https://y2u.be/{ID}",
    f"https://www.youtube-nocookie.com/embed/{ID}",
    f"https://youtube.googleapis.com/v/{ID}",
    f"https://www.youtubekids.com/watch?v={ID}",
    f"https://music.youtube.com/watch?v={ID}&list=RDAMVM{ID}",
    f"https://gaming.youtube.com/watch?v={ID}",
    f"https://studio.youtube.com/video/{ID}/edit",
    f"https://www.youtube.com/attribution_link?a=abc&u=%2Fwatch%3Fv%3D{ID}%26feature%3Dshare",
    f"https://www.youtube.com/redirect?event=x&q=https%3A%2F%2Fyoutu.be%2F{ID}",
    f"https://www.youtube.com/oembed?url=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3D{ID}&format=json",
    f"https://consent.youtube.com/m?continue=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3D{ID}&gl=DE",
    f"https://www.youtube.com/%77atch?v={ID}",
    "https://www.youtube.com/shorts/d%51w4w9WgXcQ",
    f"vnd.youtube:{ID}",
    f"vnd.youtube:{ID}?t=10",
    f"vnd.youtube://{ID}",
    f"vnd.youtube://www.youtube.com/watch?v={ID}",
    f"vnd.youtube.launch:{ID}",
    f"youtube://watch?v={ID}",
    f"<https://youtu.be/{ID}>",
    f"(https://youtu.be/{ID}).",
    f"'https://www.youtube.com/watch?v={ID}',",
    f"“https://www.youtube.com/watch?v={ID}”",
]

REFUSED = {
    "https://www.youtube.com/channel/UCuAXFkgsw1L7xaCfnd5JJOw": "channel",
    "https://www.youtube.com/@somebody": "channel",
    "https://www.youtube.com/@somebody/videos": "channel",
    "https://www.youtube.com/@somebody/live": "live page",
    "https://www.youtube.com/c/Somebody": "channel",
    "https://www.youtube.com/user/somebody": "channel",
    "https://www.youtube.com/playlist?list=PLabc": "playlist",
    "https://music.youtube.com/playlist?list=OLAK5uy_x": "playlist",
    "https://music.youtube.com/browse/MPREb_x": "album",
    "https://www.youtube.com/post/UgkxABC": "post",
    "https://www.youtube.com/hashtag/x": "hashtag",
    "https://www.youtube.com/results?search_query=x": "search",
    "https://www.youtube.com/feed/subscriptions": "feed",
    "https://www.youtube.com/clip/UgkxABC": "clip",
    "https://www.youtube.com/shorts": "Shorts",
    "https://www.youtube.com/shorts/": "Shorts",
    "https://www.youtube.com/live": "live",
    "https://www.youtube.com/embed/videoseries?list=PLabc": "playlist",
    "https://www.youtube.com/embed/live_stream?channel=UCx": "live stream",
    "https://www.youtube.com/watch": "without a video id",
    "https://www.youtube.com/watch?list=PLabc": "without a video id",
    "https://www.youtube.com/watch?v=tooshort": "11 characters",
    f"https://www.youtube.com/watch?v={ID}x": "11 characters",
    "https://www.youtube.com/watch?v=dQw4w9WgXc!x": "not a video id",
    "https://youtu.be/short": "11 characters",
    "https://youtu.be/": "without a video id",
    "https://www.youtube.com/": "home page",
    "youtube.com": "home page",
    f"https://www.youtube.com/{ID}": "lost its beginning",
    "https://www.youtube.com/redirect?q=https%3A%2F%2Fexample.org": "another site",
    "https://www.youtube.com/about": "not a video",
    "https://youtube.googleapis.com/youtube/v3/videos": "API",
}

FOREIGN = [
    "",
    "   ",
    "hello",
    "https://example.org/watch?v=dQw4w9WgXcQ",
    "https://notyoutube.com/watch?v=dQw4w9WgXcQ",
    "https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ",
    "https://youtube.com@evil.example/watch?v=dQw4w9WgXcQ",
    "https://www.bilibili.com/video/BV17x411w7KC",
    "BV17x411w7KC",
    "av795898202",
    "dQw4w9WgXc",
    "dQw4w9WgXcQQ",
    "dQw4w9WgXc!",
    "watch?v=dQw4w9WgXcQ",
    "https://[bad/watch?v=dQw4w9WgXcQ",
    "# a comment",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_names_the_video(text: str) -> None:
    expected = "-_-_-_-_-_8" if text.startswith("-_") else ID
    assert recognise(text) == expected


@pytest.mark.parametrize(("text", "word"), REFUSED.items())
def test_says_what_it_is_instead(text: str, word: str) -> None:
    with pytest.raises(LinkNotRecognised) as caught:
        recognise(text)
    assert word in caught.value.detail


@pytest.mark.parametrize("text", FOREIGN)
def test_leaves_the_rest_to_others(text: str) -> None:
    assert recognise(text) is None


def test_links_inside_links_end() -> None:
    text = f"https://youtu.be/{ID}"
    for _ in range(10):
        text = "https://www.youtube.com/redirect?q=" + text.replace("%", "%25").replace("&", "%26").replace("?", "%3F")
    with pytest.raises(LinkNotRecognised):
        recognise(text)


@given(st.from_regex(r"[A-Za-z0-9_-]{11}", fullmatch=True).filter(lambda text: not text.lower().startswith("av")))
def test_canonical_link_comes_back(video_id: str) -> None:
    assert recognise(link(video_id)) == video_id
    assert recognise(video_id) == video_id


PIECES = st.sampled_from(
    [
        *("https://", "//", "www.youtube.com", "youtu.be", "/watch", "?v=", "&", "#!v=", "/redirect?q=", "/shorts/"),
        *("%", "[", "]", "@", "vnd.youtube:", "\\", "\x00", "٣", "\ud800", ":99999999", ID),
        "consent.youtube.com/m?continue=",
    ]
)


@given(st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=8).map("".join)))
def test_never_raises_anything_else(text: str) -> None:
    try:
        found = recognise(text)
    except LinkNotRecognised:
        return
    assert found is None or len(found) == 11
