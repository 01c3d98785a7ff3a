"""Names with ``{argument}`` placeholders, filled from a decorated function's arguments."""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast.api.body import named, refuse_unfit
from holdfast.api.checks import checked_name
from holdfast.errors import Misuse


class Template:
    """A lock's name as the decorator of one function."""

    def __init__(self, text: str, function: Callable[..., Any], *, wants_async: bool) -> None:
        refuse_unfit(function, wants_async=wants_async)
        self._text = text
        self._signature = inspect.signature(function)
        try:
            fields = [*_fields(text)]
        except ValueError as error:
            raise Misuse(f"the name {text!r} cannot be filled in: {error}") from None
        self._fixed = text.format() if not fields else None
        for field in fields:
            argument = field.partition(".")[0].partition("[")[0]
            if argument not in self._signature.parameters:
                known = ", ".join(self._signature.parameters) or "none"
                raise Misuse(
                    f"the name {text!r} asks for {{{argument}}}, but the arguments of"
                    f" {named(function)} are: {known}"
                )

    def fill(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Give the name for one call."""
        if self._fixed is not None:
            return self._fixed
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return checked_name(self._text.format(**bound.arguments))


def _fields(text: str) -> Iterator[str]:
    """Give what a template asks for, also inside of a format (``{size:{width}}``)."""
    for _, field, spec, conversion in string.Formatter().parse(text):
        if field is not None:
            yield field
            yield from _fields(spec or "")
        if conversion and conversion not in "rsa":
            raise ValueError(f"!{conversion} is no conversion: !r, !s and !a are")
