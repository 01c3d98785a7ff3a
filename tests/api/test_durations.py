"""Spans of time as users write them."""
