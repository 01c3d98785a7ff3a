"""Describe the public API as text: every name of `holdfast.__all__`, its members and signatures.

The functions of `holdfast.postgres` follow.
`tests/test_architecture.py` compares the description with `tests/api_snapshot.txt`, so that a
change of the API shows in the diff. Run `python -m tests.snapshot` to write the file anew.
"""

import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path

import holdfast
import holdfast.postgres

SNAPSHOT = Path(__file__).with_name("api_snapshot.txt")

ASYNC_SPELLING = {
    "__enter__": "__aenter__",
    "__exit__": "__aexit__",
    "__iter__": "__aiter__",
    "__next__": "__anext__",
}
SHOWN_SPECIALS = {"__call__", *ASYNC_SPELLING, *ASYNC_SPELLING.values()}


class _Bare(str):
    """An annotation given as a string, shown without the quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def members(cls: type) -> dict[str, object]:
    """Find what a user may touch on `cls`: our own base classes included, builtin ones not."""
    found = {name: value for base in _own_classes(cls) for name, value in vars(base).items()}
    return {
        name: found[name]
        for name in sorted(found)
        if not name.startswith("_") or name in SHOWN_SPECIALS
    }


def signature_of(member: object) -> inspect.Signature | None:
    """Give the signature of a function, a method or a class; None for anything else."""
    if isinstance(member, classmethod | staticmethod):
        member = member.__func__
    if not isinstance(member, type) and not inspect.isroutine(member):
        return None
    try:
        signature = inspect.signature(member)
    except ValueError:  # what is written in C need not have one
        return None
    bare = [
        parameter.replace(annotation=_bare(parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    return signature.replace(parameters=bare, return_annotation=_bare(signature.return_annotation))


def describe() -> str:
    """Write out the public API, one line a name or member."""
    lines = [line for name in sorted(holdfast.__all__) for line in _describe_name(name)]
    lines += [
        f"holdfast.postgres: {_describe_member(name, getattr(holdfast.postgres, name), object)}"
        for name in holdfast.postgres.__all__
    ]
    # A default that is an object of its own shows its address, which differs in every process.
    return re.sub(r" at 0x[0-9a-f]+", "", "\n".join(lines) + "\n")


def _describe_name(name: str) -> Iterator[str]:
    value: object = getattr(holdfast, name)
    if not isinstance(value, type):
        alias = typing.get_origin(value) is not None
        yield f"{name} = {value}" if alias else _describe_member(name, value, type(value))
        return
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    yield f"class {name}" + (f" is {bases}" if bases else "")
    yield f"    made by {signature_of(value) or '(...)'}"
    annotations = {
        field: annotation
        for base in _own_classes(value)
        for field, annotation in inspect.get_annotations(base).items()
    }
    for member_name, member in members(value).items():
        annotation = annotations.get(member_name, type(member))
        yield f"    {_describe_member(member_name, member, annotation)}"


def _describe_member(name: str, member: object, annotation: object) -> str:
    if isinstance(member, property):
        getter = signature_of(member.fget)
        annotation = getter.return_annotation if getter else annotation
        return f"{name} -> {inspect.formatannotation(_bare(annotation))}"
    signature = signature_of(member)
    if signature is None:
        return f"{name}: {inspect.formatannotation(_bare(annotation))}"
    asynchronous = "async " if inspect.iscoroutinefunction(member) else ""
    return f"{asynchronous}def {name}{signature}"


def _own_classes(cls: type) -> list[type]:
    return [base for base in reversed(cls.__mro__) if base.__module__.split(".")[0] == "holdfast"]


def _bare(annotation: object) -> object:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


if __name__ == "__main__":
    SNAPSHOT.write_text(describe(), encoding="utf-8")
