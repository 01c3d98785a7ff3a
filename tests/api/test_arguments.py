"""Names, metadata, ttl and on_loss, checked at the edge."""
