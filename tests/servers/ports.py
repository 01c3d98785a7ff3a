"""Ports are part of holdfast's testing kit; servers may go on to fetch them from here."""

from holdfast.testing.ports import BUS, HOST, Port

__all__ = ["BUS", "HOST", "Port"]
