"""What callers of a simulated world do beside taking one lock: the whole family, one a file.

Each errand uses the shipped flows in the order in which the public API does, and tells whoever
watches what it was told. What is wished for is plain data, in ``wishes``; ``every`` knows them all.
"""
