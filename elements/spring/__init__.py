"""Springs and dashpots between points and frames, and pulls."""
