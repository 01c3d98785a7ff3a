"""The types that users see: checked by mypy, never run."""
