"""What survives a crash: folders, records, state tables, and failpoints."""
