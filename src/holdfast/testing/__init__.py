"""Tests that authors of other backends, and users, can run: the conformance suite."""
