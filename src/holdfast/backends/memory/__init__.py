"""The backend of one process: threads and tasks, sync and async clients, and no file at all."""
