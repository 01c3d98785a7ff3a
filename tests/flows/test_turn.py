"""One turn of the keeper: one batch, the next look, back-off and chores."""
