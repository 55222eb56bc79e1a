"""Ingest: one streaming query for each source, its log, what an epoch reads of it, and the watermark."""
