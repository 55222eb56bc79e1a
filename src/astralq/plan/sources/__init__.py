"""From the rows of sources to streams and relations."""
