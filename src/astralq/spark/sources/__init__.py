"""From DataFrames and files to streams and relations."""
