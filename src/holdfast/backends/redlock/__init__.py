"""The backend on a quorum of independent Redis or Valkey servers: Redlock, with tokens."""
