import pytest
from scrapy.settings import Settings

from research_scrapers.config import Config
from research_scrapers.errors import SettingInvalid
from research_scrapers.models import Kind


def config(**changes):
    settings = Settings()
    settings.setmodule("research_scrapers.settings", priority="project")
    settings.setdict(changes, priority="cmdline")
    return Config.from_settings(settings)


def test_the_defaults_are_those_that_were_asked_for():
    limits = config().limits
    assert (limits.total, limits.per_domain, limits.per_artifact, config().window) == (64, 16, 24, 3)
    assert (config().retry.attempts, config().retry.base, config().retry.cap_s) == (3, 1.5, 60.0)
    assert config().obey_robots


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONCURRENT_REQUESTS", "many"),
        ("CONCURRENT_REQUESTS_PER_DOMAIN", "0"),
        ("RETRY_TIMES", "-1"),
        ("DOMAIN_RATE", "-2"),
        ("RETRY_BACKOFF_BASE", "nan"),
        ("COMMENTS_INFLIGHT_WINDOW", "0"),
        ("LEASE_S", "inf"),
        ("CONCURRENT_REQUESTS", None),
    ],
)
def test_a_wrong_value_is_named(name, value):
    with pytest.raises(SettingInvalid, match=name):
        config(**{name: value})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sorts": "top"}, "Did you mean sort"),
        ({"sort": "newset"}, "Did you mean newest"),
        ({"sort": "x"}, "newest, top"),
        ({"max_comments": "ten"}, "whole number"),
        ({"max_replies": "-1"}, "negative"),
        ({"zzz": "1"}, "There are: links"),
        ({"refresh": "never"}, "refresh"),
    ],
)
def test_a_wrong_argument_is_named_with_the_nearest_right_one(arguments, message):
    with pytest.raises(SettingInvalid, match=message):
        config().options(arguments)


def test_arguments():
    options = config().options({"sort": "top", "max_comments": "10", "max_replies": "", "refresh": "new", "_job": "x"})
    assert (options.sort, options.max_comments, options.max_replies, options.refresh) == ("top", 10, None, "new")


def test_the_snapshot_holds_no_secret():
    secret = "AIza-canary"
    made = config(YOUTUBE_API_KEY=secret)
    snapshot = made.snapshot(made.options({}), "api")
    assert secret not in str(snapshot)
    assert (snapshot["api_key"], snapshot["robots"]) == ("set", "obey")


HEADER = "buvid3=x; SESSDATA=ab%2C12%2Ccd*e1; bili_jct=y"
EXPORTS = {
    "netscape": "# Netscape HTTP Cookie File\n"
    "#HttpOnly_.bilibili.com\tTRUE\t/\tTRUE\t1790000000\tSESSDATA\tab%2C12%2Ccd*e1\n",
    "netscape of two services": ".bilibili.tv\tTRUE\t/\tTRUE\t1\tSESSDATA\twrong\n"
    ".bilibili.com\tTRUE\t/\tTRUE\t1\tSESSDATA\tab%2C12%2Ccd*e1\n",
    "header": HEADER,
    "list": '[{"domain": ".x.com", "name": "SESSDATA", "value": "wrong"}, {"value": "ab%2C12%2Ccd*e1", "domain":'
    ' ".bilibili.com", "name": "SESSDATA"}]',
    "playwright": '{"cookies": [{"name": "SESSDATA", "value": "ab%2C12%2Ccd*e1", "domain": ".bilibili.com"}]}',
    "object": '{"SESSDATA": "ab%2C12%2Ccd*e1", "bili_jct": "y"}',
    "with a byte order mark": "\ufeff" + HEADER,
}


@pytest.mark.parametrize("text", EXPORTS.values(), ids=EXPORTS)
def test_the_login_from_a_cookies_file(tmp_path, text):
    path = tmp_path / "cookies"
    path.write_text(text, encoding="utf-8")
    assert config(BILIBILI_COOKIES=str(path)).logins == {"bilibili": "ab%2C12%2Ccd*e1"}


@pytest.mark.parametrize(
    "value", ["ab%2C12%2Ccd*e1", "SESSDATA=ab%2C12%2Ccd*e1", " SESSDATA=ab%2C12%2Ccd*e1; ", HEADER, '"ab%2C12%2Ccd*e1"']
)
def test_the_login_itself(value):
    assert config(BILIBILI_SESSDATA=value).logins == {"bilibili": "ab%2C12%2Ccd*e1"}


def test_no_login():
    assert config().logins == {}
    assert config().snapshot(config().options({}), "x")["logins"] == []


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "[1]", "null", '"x"', "SESSDATA=", ".bilibili.com\tTRUE\t/\tTRUE\t1\tbuvid3\tx\n"]
)
def test_a_cookies_file_without_the_cookie(tmp_path, text):
    path = tmp_path / "cookies"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingInvalid, match="no SESSDATA cookie"):
        config(BILIBILI_COOKIES=str(path))


def test_a_cookies_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(SettingInvalid, match="No such file"):
        config(BILIBILI_COOKIES=str(tmp_path / "missing"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingInvalid, match="BILIBILI_COOKIES"):
        config(BILIBILI_COOKIES=str(tmp_path / "binary"))


@pytest.mark.parametrize("value", ["two words", "a\nb: c", "SESSDATA=", "日本"])
def test_a_login_that_is_no_cookie_is_told_without_telling_it(value):
    with pytest.raises(SettingInvalid) as caught:
        config(BILIBILI_SESSDATA=value)
    assert "BILIBILI_SESSDATA" in str(caught.value)
    assert value not in str(caught.value).replace("cookie SESSDATA", "")


ALL_KINDS = (Kind.COMMENTS, Kind.DANMAKU, Kind.METADATA)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("2024-01-01..2024-01-31", "2024-01-01..2024-01-31"),
        ("2024-02-29", "2024-02-29..2024-02-29"),
        ("all", "all"),
        ("", None),
    ],
)
def test_days_of_history(value, kept):
    assert config(BILIBILI_SESSDATA="abcdefgh").options({"history": value}, ALL_KINDS).history == kept


@pytest.mark.parametrize("value", ["yesterday", "2024-13-01", "2024-02-01..2024-01-01", "..", "2024-01-01..x"])
def test_days_that_are_none(value):
    with pytest.raises(SettingInvalid, match="history"):
        config(BILIBILI_SESSDATA="abcdefgh").options({"history": value}, ALL_KINDS)


def test_arguments_belong_to_the_kinds_of_a_spider():
    options = config().options({"parts": "first", "danmaku": "0"}, ALL_KINDS)
    assert (options.parts, options.danmaku) == ("first", False)
    assert config().options({"parts": "first"}, (Kind.TRANSCRIPT, Kind.METADATA)).parts == "first"
    for arguments, kinds in (
        ({"danmaku": "0"}, (Kind.TRANSCRIPT, Kind.METADATA)),
        ({"parts": "first"}, (Kind.COMMENTS,)),
        ({"parts": "2"}, ALL_KINDS),
        ({"danmaku": "maybe"}, ALL_KINDS),
    ):
        with pytest.raises(SettingInvalid):
            config().options(arguments, kinds)
