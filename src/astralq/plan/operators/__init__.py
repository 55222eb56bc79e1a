"""One relation or stream from others: selections, joins, past states, streamers, streams of windows."""
