"""One query under the conventions of several systems: where their answers differ, and which choice causes it."""
