"""Chaos: commands that are killed, frozen, starved and lied to, and what must hold afterwards."""
