"""The proxy is part of holdfast's testing kit; tests may go on to fetch it from here."""

from holdfast.testing.proxy.proxy import Proxy

__all__ = ["Proxy"]
