"""Windows as intervals: by time, by rows, at instants, by distance."""
