"""Storage of results: the journal of a run, its HDF5 file, and reading both."""
