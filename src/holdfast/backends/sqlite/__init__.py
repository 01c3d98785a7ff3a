"""The backend of one host: processes that share a file, with no server at all."""
