"""A grant that comes by notice: start at once, confirm first, or queue anew."""
