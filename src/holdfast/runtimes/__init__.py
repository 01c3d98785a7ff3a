"""Who turns the crank: threads or an event loop, and the keeper's thread for both."""
