"""Histories of real processes: how they are written down, read back and judged.

A worker that uses locks writes every call and its outcome into a file of its own (``record``).
Afterwards ``judge`` merges the files of a folder in the order of time and says whether what they
tell can have happened if the promises of holdfast hold. ``python -m holdfast.testing.history
FOLDER`` does the same from a shell.

Nothing is imported here: a worker that only records must start quickly, and is killed often.
"""
