"""The base of all rooms: errors, types, checks, options of a run, progress."""
