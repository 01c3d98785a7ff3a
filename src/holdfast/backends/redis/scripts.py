"""The rule in the server's language: read from ``scripts/``, put together, known by their hash."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import NamedTuple

_PARTS = re.compile(r"^--@ (\w+)$", re.MULTILINE)
_HAS_MARK = {"--@ one key": "#KEYS == 2", "--@ a key each": "2 * #KEYS > #ARGV"}
"""How scripts that are not about a name's five keys see that the birth mark is one of theirs."""


class Script(NamedTuple):
    """One script: what is sent to make the server know it, and how it is called from then on."""

    name: str
    body: bytes
    sha: bytes


@cache
def script(name: str) -> Script:
    """Give the script for one kind of request, with what its text asks for (``--@``) in place."""
    text = put_together(name, "birth", _text)
    for sign, has_mark in _HAS_MARK.items():
        if sign in text:
            text = text.replace("#KEYS % 5 == 1", has_mark)
    return known_by_hash(name, text)


def put_together(name: str, beginning: str, text: Callable[[str], str]) -> str:
    """Give a script's text with its beginning, and with the parts that it asks for in place."""
    return f"{text(beginning)}\n{_PARTS.sub(lambda part: text(part[1]), text(name))}"


def known_by_hash(name: str, text: str) -> Script:
    """Make a script of its text."""
    body = _inlined(text).encode()
    # The protocol's own name for a script, not a secret.
    return Script(name, body, sha1(body, usedforsecurity=False).hexdigest().encode())


def _inlined(text: str) -> str:
    """Put constants (names in capitals) into their places: as locals each closure would pay."""
    for line in re.findall(r"^local [A-Z, ]+ = [0-9, ]+$", text, re.MULTILINE):
        names, _, values = line.removeprefix("local ").partition(" = ")
        for name, value in zip(names.split(", "), values.split(", "), strict=True):
            text = re.sub(rf"\b{name}\b(?! =)", value, text.replace(line, ""))
    return text


def _text(name: str) -> str:
    return (files(__package__) / "scripts" / f"{name}.lua").read_text(encoding="utf-8")
