"""Analyses that are carried out and recorded: motion in time, statics, inverse dynamics, comparison."""
