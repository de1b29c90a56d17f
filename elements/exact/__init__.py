"""Geometrically exact beam: shear, extension, torsion and bending with any 6 x 6 section, of order 4 with two nodes."""
