import pytest

from research_scrapers import knobs, settings
from research_scrapers.cli.common import project_settings
from research_scrapers.config import Config, restore, take_names
from research_scrapers.errors import SettingInvalid

ASKED_FOR = {
    "max_concurrency_global", "max_concurrency_per_domain", "max_concurrency_per_artifact", "max_browsers",
    "max_pages_per_browser", "request_timeout_s", "retry_attempts", "retry_backoff_base", "comments_inflight_window",
    "transcripts_priority_boost", "enable_http_cache", "enable_raw_capture", "worker_pool_size",
}  # fmt: skip


@pytest.fixture
def read(tmp_path, monkeypatch):
    """What Scrapy would read, given a file, the environment, flags and ``-s``."""

    def make(file=None, environment=None, flags=None, command=None):
        monkeypatch.chdir(tmp_path)
        if file is not None:
            (tmp_path / "research.toml").write_text(file, encoding="utf-8")
        for name, value in (environment or {}).items():
            monkeypatch.setenv(name, value)
        found = project_settings()
        found.setdict(flags or {}, priority=35)
        found.setdict(command or {}, priority="cmdline")
        take_names(found)
        return found

    return make


def test_every_knob_that_was_asked_for_is_there():
    assert set(knobs.KNOBS) >= ASKED_FOR


@pytest.mark.parametrize("setting", knobs.OF_SETTING)
def test_every_knob_has_its_default_in_the_settings(setting):
    assert hasattr(settings, setting)


def test_the_file_the_environment_flags_and_s_in_this_order(read):
    file = "max_concurrency_global = 1\nretry_attempts = 1\nworker_pool_size = 1\nlease_s = 100"
    environment = {"RESEARCH_RETRY_ATTEMPTS": "2", "RESEARCH_WORKER_POOL_SIZE": "2", "RESEARCH_LEASE_S": "200"}
    made = read(file, environment, {"WORKER_POOL_SIZE": 3, "LEASE_S": 300}, {"lease_s": "400"})
    config = Config.from_settings(made)
    assert (config.limits.total, config.retry.attempts, config.workers, config.lease_s) == (1, 2, 3, 400.0)


@pytest.mark.parametrize(
    "text",
    [
        '[max_concurrency_per_domain]\n"bilibili.com" = 5',
        "[max_concurrency_per_domain]\nbilibili.com = 5",
        'max_concurrency_per_domain = "bilibili.com=5"',
        "max_concurrency_per_domain = {'bilibili.com' = 5, default = 7}",
    ],
)
def test_limits_of_a_domain_however_they_are_written(read, text):
    limits = Config.from_settings(read(text)).limits
    assert limits.pace("bilibili.com").in_flight == 5
    assert limits.pace("youtube.com").in_flight == (7 if "default" in text else 16)


def test_a_number_for_all_domains_counts_as_decided(read):
    assert Config.from_settings(read()).limits.pace("bilibili.com").in_flight == 2
    limits = Config.from_settings(read("max_concurrency_per_domain = 9\ndomain_rate = 3.5")).limits
    assert (limits.pace("bilibili.com").in_flight, limits.pace("bilibili.com").rate) == (9, 3.5)


def test_the_environment_replaces_a_whole_table(read):
    made = read('[max_concurrency_per_domain]\n"bilibili.com" = 5', {"RESEARCH_MAX_CONCURRENCY_PER_DOMAIN": "8"})
    assert Config.from_settings(made).limits.pace("bilibili.com").in_flight == 8


def test_a_pause_that_a_person_decided_in_the_file_is_kept(read):
    assert Config.from_settings(read()).limits.unhurried
    assert not Config.from_settings(read("breaker_cooldown_s = 1")).limits.unhurried


WRONG = {
    "name in the file": ("# mine\nmax_concurency_global = 3", {}, {}, "research.toml:2", "max_concurrency_global"),
    "scrapy's name": ("CONCURRENT_REQUESTS = 3", {}, {}, "research.toml:1", "max_concurrency_global"),
    "table": ("db = 'x'\n[retry_atempts]\nx = 1", {}, {}, "research.toml:2", "retry_attempts"),
    "value in the file": ("\nretry_attempts = 'many'", {}, {}, "research.toml:2", "whole number"),
    "range in the file": ("\n\nmax_concurrency_global = 0", {}, {}, "research.toml:3", "at least 1"),
    "truth": ("retry_attempts = true", {}, {}, "research.toml:1", "whole number"),
    "half": ("retry_attempts = 1.5", {}, {}, "research.toml:1", "whole number"),
    "switch": ("enable_http_cache = 'perhaps'", {}, {}, "research.toml:1", "true or false"),
    "not TOML": ("retry_attempts = \nx = 1", {}, {}, "research.toml", "line 1"),
    "variable": (None, {"RESEARCH_RETRY_ATTEMPT": "3"}, {}, "RESEARCH_RETRY_ATTEMPT", "RESEARCH_RETRY_ATTEMPTS"),
    "value of a variable": (None, {"RESEARCH_LEASE_S": "long"}, {}, "RESEARCH_LEASE_S", "a number"),
    "choice": (None, {"RESEARCH_ROBOTS": "ingore"}, {}, "RESEARCH_ROBOTS", "Did you mean ignore?"),
    "domain": ("max_concurrency_per_domain = {'bilibli.com' = 2}", {}, {}, "research.toml:1", "bilibili.com"),
    "domains": ("max_concurrency_per_domain = 'a=b=c'", {}, {}, "research.toml:1", "bilibili.com=2,youtube.com=16"),
    "browsers": ("max_browsers = 2", {}, {}, "research.toml:1", "no browser route"),
    "browsers by -s": (None, {}, {"MAX_PAGES_PER_BROWSER": "1"}, "MAX_PAGES_PER_BROWSER", "no browser route"),
    "-s by name": (None, {}, {"retry_attempts": "x"}, "-s retry_attempts", "whole number"),
    "-s misspelt": (None, {}, {"COMMENTS_INFLIGHT_WINDW": "2"}, "COMMENTS_INFLIGHT_WINDW", "COMMENTS_INFLIGHT_WINDOW"),
    "-s Scrapy's": (None, {}, {"CONCURENT_REQUESTS": "2"}, "CONCURENT_REQUESTS", "CONCURRENT_REQUESTS"),
    "a file that is not there": (None, {"RESEARCH_CONFIG": "mine.toml"}, {}, "mine.toml", "no such file"),
}


@pytest.mark.parametrize(("file", "environment", "command", "where", "right"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_one_error_with_its_place_and_what_would_be_right(
    read, file, environment, command, where, right
):  # fmt: skip
    with pytest.raises(SettingInvalid) as told:
        Config.from_settings(read(file, environment, command=command))
    assert where in str(told.value)
    assert right in str(told.value)


def test_variables_of_other_programs_are_left_alone(read):
    Config.from_settings(read(environment={"RESEARCH_GRANT_NUMBER": "7"}, command={"MY_PLUGIN": "1"}))


def test_secrets_of_the_file_are_used_and_never_told(read):
    made = Config.from_settings(read("youtube_api_key = 'canary-1'\nbilibili_sessdata = 'canary-2'"))
    assert (made.api_key, made.logins) == ("canary-1", {"bilibili": "canary-2"})
    assert "canary" not in str(made.snapshot(made.options({}), "api"))
    with pytest.raises(SettingInvalid) as told:
        Config.from_settings(read("youtube_api_kei = 'canary-1'"))
    assert "canary" not in str(told.value)
    with pytest.raises(SettingInvalid) as told:
        Config.from_settings(read("youtube_api_key = 'canary-1"))
    assert "canary" not in str(told.value)
    with pytest.raises(SettingInvalid) as told:
        Config.from_settings(read("youtube_api_key = 4711"))
    assert "4711" not in str(told.value)


def test_a_run_goes_on_with_what_it_was_begun_with(read, tmp_path):
    begun = Config.from_settings(
        read("worker_pool_size = 3\nretry_attempts = 5\nmax_concurrency_per_domain = {'bilibili.com' = 4}")
    )
    snapshot = begun.snapshot(begun.options({}), "web")
    again = read("worker_pool_size = 6\nrequest_timeout_s = 99\nmax_concurrency_per_domain = 1", command={
        "RETRY_TIMES": "7"})  # fmt: skip
    restore(again, snapshot)
    config = Config.from_settings(again)
    assert (config.workers, config.retry.attempts, again.getfloat("DOWNLOAD_TIMEOUT")) == (3, 7, 30)
    assert (config.limits.pace("bilibili.com").in_flight, config.limits.pace("youtube.com").in_flight) == (4, 16)
    assert config.limits.pace("bilibili.com").rate == begun.limits.pace("bilibili.com").rate


def test_the_decision_about_robots_is_the_runs_until_it_is_made_anew(read):
    ignoring = Config.from_settings(read(environment={"RESEARCH_ROBOTS": "ignore"}))
    snapshot = ignoring.snapshot(ignoring.options({}), "web")
    again = read(environment={"RESEARCH_ROBOTS": ""})
    restore(again, snapshot)
    assert not Config.from_settings(again).obey_robots
    anew = read(environment={"RESEARCH_ROBOTS": "obey"})
    restore(anew, snapshot)
    assert Config.from_settings(anew).obey_robots
    obeying = Config.from_settings(read(environment={"RESEARCH_ROBOTS": ""}))
    now = read(environment={"RESEARCH_ROBOTS": "ignore"})
    restore(now, obeying.snapshot(obeying.options({}), "web"))
    assert not Config.from_settings(now).obey_robots


def test_a_flag_for_one_domain_leaves_the_runs_others(read):
    begun = Config.from_settings(read("max_concurrency_per_domain = {'bilibili.com' = 4, 'youtube.com' = 9}"))
    again = read("", flags={"DOMAIN_CONCURRENCY": {"youtube.com": "3"}})
    restore(again, begun.snapshot(begun.options({}), "web"), {"youtube.com": "3"})
    limits = Config.from_settings(again).limits
    assert (limits.pace("bilibili.com").in_flight, limits.pace("youtube.com").in_flight) == (4, 3)
