"""How streams and temporal relations are tables: columns, batch identifiers, φ, and the segmented scan."""
