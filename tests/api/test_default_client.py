"""The module-level shortcuts, and what importing holdfast costs."""
