"""The error tree: bases, fields, pickling, and what LockBusy says."""
