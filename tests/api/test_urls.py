"""Backend URLs: mistakes name the nearest right thing, passwords are never shown."""
