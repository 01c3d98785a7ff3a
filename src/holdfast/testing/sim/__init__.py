"""A simulator: the shipped flows, rules and keeper in worlds with virtual clocks and seeded faults.

``search(worlds, seeds)`` runs seeds until one of them violates an invariant; the same seed always
gives the same trace. ``python -m holdfast.testing.sim --seeds 1000`` does it from a shell.
"""
