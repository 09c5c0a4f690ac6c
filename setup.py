"""For `scrapyd-deploy`, which builds its egg through this file. Everything is in pyproject.toml."""

from setuptools import setup

setup()
