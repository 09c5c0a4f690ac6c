"""How people talk to it: the `research` command."""
