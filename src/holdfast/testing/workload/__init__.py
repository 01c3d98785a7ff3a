"""Workers that use locks in every way people do, and write down all of it.

A ``crew`` starts them as real processes against one backend, kills, pauses and replaces them, and
collects their histories, which ``holdfast.testing.history`` judges. What the workers do follows
from a ``plan`` and its seed; what happens to them is for the caller to decide.

Nothing is imported here: a worker must start quickly, for it is killed often.
"""
