"""Handles: the line that a lease without a process is known by, read back or refused."""

import base64

import pytest

from holdfast.api.handle import Handle
from holdfast.errors import Misuse


def written(cells: str) -> str:
    """Write a handle as ``str`` does, around whatever it is."""
    return "hf1-" + base64.urlsafe_b64encode(cells.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "handle",
    [Handle("n", 1, 10.0, "abc"), Handle("ä \U0001f512", 2**63 - 1, 0.25, "abc")],
)
def test_what_was_written_is_read(handle: Handle) -> None:
    """Every handle comes back as it was, also with white space around it."""
    assert Handle.parse(f" {handle}\n") == handle


DAMAGED = [
    '["n",1e999,10,"abc"]',
    '["n",1,Infinity,"abc"]',
    '["n",1,NaN,"abc"]',
    '["n",1,10,"\\ud800"]',
    '["\\ud800",1,10,"abc"]',
    "[" * 5000,
    '["n",0,10,"abc"]',
    '["n",-1,10,"abc"]',
    f'["n",{2**63},10,"abc"]',
    f'["n",{"9" * 5000},10,"abc"]',
    '["n",1.5,10,"abc"]',
    '["n",true,10,"abc"]',
    '["n","1",10,"abc"]',
    '["n",1,0,"abc"]',
    '["n",1,-1,"abc"]',
    '["n",1,"10s","abc"]',
    '["n",1,true,"abc"]',
    '["n",1,1e300,"abc"]',
    f'["n",1,{"9" * 400},"abc"]',
    '["n",1,10,""]',
    '["n",1,10,"a\\u0000c"]',
    '["n",1,10,7]',
    '["n",1,10,["abc"]]',
    '["",1,10,"abc"]',
    '["n",1,10]',
    '{"n":1,"b":2,"c":3,"d":4}',
    '"abcd"',
    "7",
    "null",
]


@pytest.mark.parametrize("cells", DAMAGED, ids=range(len(DAMAGED)))
def test_what_is_damaged_is_refused(cells: str) -> None:
    """Whatever is wrong with it, one sentence says what to give instead, without its content."""
    with pytest.raises(Misuse) as refused:
        Handle.parse(written(cells))
    assert refused.value.message == (
        "this is not a handle; give the line that `holdfast acquire` printed"
    )
