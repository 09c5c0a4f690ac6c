"""Hostile input for every place where the outside world comes in. See README.md."""
