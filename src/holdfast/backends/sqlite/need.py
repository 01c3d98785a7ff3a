"""What a transaction must do for its requests: only read, write, or write so that it lasts."""

from __future__ import annotations

from typing import Literal, TypeAlias

Need: TypeAlias = Literal[0, 1, 2]
"""The larger one does for the smaller ones too."""

READING: Need = 0
WRITING: Need = 1
"""A power cut may take it back: what it would take back are leases, and it ends those anyway."""

LASTING: Need = 2
"""On the disk before it is answered (decision 0013)."""
