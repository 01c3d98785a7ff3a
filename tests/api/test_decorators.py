"""Locks as decorators: placeholders in the name, and what cannot be decorated."""
