"""Giving back: lost replies, an unreachable backend, and a lease that was gone."""
