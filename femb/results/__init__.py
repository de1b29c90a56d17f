"""What an analysis records, in memory and in files."""
