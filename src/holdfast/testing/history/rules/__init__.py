"""The rules, one promise a file; ``RULES`` is what the checker asks by default."""

from __future__ import annotations

from holdfast.testing.history.rule import Rule
from holdfast.testing.history.rules.amnesia import Amnesia
from holdfast.testing.history.rules.belief import Belief
from holdfast.testing.history.rules.endings import Endings
from holdfast.testing.history.rules.exclusion import Exclusion
from holdfast.testing.history.rules.fencing import Fencing
from holdfast.testing.history.rules.idleness import Idleness
from holdfast.testing.history.rules.order import Order
from holdfast.testing.history.rules.rates import Rates
from holdfast.testing.history.rules.results import Results
from holdfast.testing.history.rules.slots import Slots
from holdfast.testing.history.rules.succession import Succession
from holdfast.testing.history.rules.telling import Telling
from holdfast.testing.history.rules.tokens import Tokens
from holdfast.testing.history.rules.updates import Updates
from holdfast.testing.history.rules.waiting import Waiting

RULES: tuple[type[Rule], ...] = (
    Exclusion,
    Succession,
    Tokens,
    Fencing,
    Order,
    Belief,
    Telling,
    Amnesia,
    Waiting,
    Idleness,
    Updates,
    Results,
    Slots,
    Rates,
    Endings,
)
