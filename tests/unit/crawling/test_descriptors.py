import resource

import pytest

from research_scrapers.crawling.descriptors import ensure_files
from research_scrapers.errors import TooFewFiles


@pytest.fixture
def limits(monkeypatch):
    """Soft and hard limit, as a list that can be changed; what is set is kept in it."""
    held = [1024, 1024]
    monkeypatch.setattr(resource, "getrlimit", lambda which: tuple(held))
    monkeypatch.setattr(resource, "setrlimit", lambda which, new: held.__setitem__(slice(None), new))
    return held


def test_enough_is_left_alone(limits):
    ensure_files(64)
    assert limits == [1024, 1024]


def test_a_low_limit_is_raised_where_the_system_allows_it(limits):
    limits[:] = [20, resource.RLIM_INFINITY]
    ensure_files(64)
    assert 96 < limits[0] < 1024
    assert limits[1] == resource.RLIM_INFINITY


def test_too_few_are_told_before_anything_is_begun(limits):
    limits[:] = [20, 40]
    with pytest.raises(TooFewFiles, match="ulimit -n"):
        ensure_files(64)
    assert limits == [20, 40]


def test_when_not_even_one_is_left_to_count_the_others(limits, monkeypatch):
    def nothing_left(path):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("os.listdir", nothing_left)
    with pytest.raises(TooFewFiles):
        ensure_files(64)
    limits[:] = [resource.RLIM_INFINITY, resource.RLIM_INFINITY]
    ensure_files(64)
