"""How answers are printed as text: values, json lines, and csv."""
