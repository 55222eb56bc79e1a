"""How tuples come in: one streaming query for each source, its log, and the watermark."""
