"""What survives a crash: folders, records, state tables, and where tests crash."""
