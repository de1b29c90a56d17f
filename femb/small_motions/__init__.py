"""Small motions about a state: the eigenproblem, its free motions, and exact products with its matrices."""
