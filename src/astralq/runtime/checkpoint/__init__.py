"""The checkpoint: its folders, its records, state tables in files, and failpoints for the crash tests."""
