"""What everything stands on: errors, types, checks, profiles of time, options of a run, progress."""
