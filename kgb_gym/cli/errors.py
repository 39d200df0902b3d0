"""What a person did wrong, said in a way that tells what to do instead."""

from __future__ import annotations


class WrongUse(Exception):
    """The command can't be carried out as given. The message is for people; the exit code is 2."""
