import pytest
from scrapy.settings import Settings

from research_scrapers.config import Config
from research_scrapers.errors import SettingInvalid


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
