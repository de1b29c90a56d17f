"""Recording of runs: what items and the equations give at the output times, written to results."""
