"""The results of an analysis, in memory and in files."""
