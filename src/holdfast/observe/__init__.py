"""What happened, told sideways: events, and the observers that turn them into logs and metrics."""
