"""Bodies whose small deformation is a sum of shapes of a finite element model."""
