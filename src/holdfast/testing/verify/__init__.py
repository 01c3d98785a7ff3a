"""A trial of holdfast on somebody's own backend: workers, faults, the checker, and a report.

``holdfast verify`` is its face. It needs no privilege and touches nothing outside a prefix of its
own; what it cannot do on a backend it says.
"""
