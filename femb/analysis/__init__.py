"""What users ask of a model: motion in time, inverse dynamics, comparison, statics, linearisation."""
