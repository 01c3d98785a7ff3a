"""Pure decisions: no clock, no I/O, no randomness. What they need comes in as arguments."""
