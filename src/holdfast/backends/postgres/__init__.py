"""PostgreSQL: leases in a table."""
