"""A place to rehearse: the shipped flows, keeper and rule, on a backend that a test can disturb.

``Sandbox`` (in ``sandbox``) is the door, ``Faults`` (in ``faults``) what can go wrong, and
``VirtualClock`` (in ``virtual_clock``) a time that passes only when the test says so. Everything
else here is behind them; nothing here decides who may hold a name.
"""
