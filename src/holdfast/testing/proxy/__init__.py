"""A TCP proxy in front of a real server that misbehaves on demand; ``proxy`` is the door to it."""
