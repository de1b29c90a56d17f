"""Shells of quadrilaterals and triangles in large rotation: natural strains, hybrid stress, laminates."""
