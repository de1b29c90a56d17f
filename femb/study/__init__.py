"""Studies: many runs of one case, their design, their outputs in one table, and the processes that carry them out."""
