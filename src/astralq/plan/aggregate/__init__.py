"""Aggregation: panes, sweeps, blocks, exact sums."""
