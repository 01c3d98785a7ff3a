"""The log: quiet when all is well, loud about loss, patient about waiting."""
