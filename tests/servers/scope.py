"""What is started and closed is in the testing kit of holdfast; servers may fetch it from here."""

from holdfast.testing.scope import Scoped

__all__ = ["Scoped"]
