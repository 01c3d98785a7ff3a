"""The rule in the server's language: read from ``scripts/``, put together, known by their hash."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import NamedTuple

_PARTS = re.compile(r"^--@ (\w+)$", re.MULTILINE)


class Script(NamedTuple):
    """One script: what is sent to make the server know it, and how it is called from then on."""

    name: str
    body: bytes
    sha: bytes


@cache
def script(name: str) -> Script:
    """Give the script for one kind of request, with what its text asks for (``--@``) in place."""
    own = _text(name)
    text = f"{_text('birth')}\n{_PARTS.sub(lambda part: _text(part[1]), own)}"
    if own.startswith("--@ one key"):
        text = text.replace("#KEYS % 5 == 1", "#KEYS == 2")
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
