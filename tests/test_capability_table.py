"""The table of what works where says what the backends say."""

from tests.capability_table import PAGE, page_with, table


def test_the_table_is_not_stale() -> None:
    """If this fails, run ``python -m tests.capability_table``."""
    page = PAGE.read_text("utf-8")
    assert page == page_with(page, table())
