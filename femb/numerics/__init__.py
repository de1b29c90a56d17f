"""Mathematics and machine code that know nothing of models: rotations, compiled kernels, elimination."""
