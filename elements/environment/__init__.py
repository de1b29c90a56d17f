"""The surroundings of a spacecraft: magnetic fields, plates in sunlight and in thin air, the frame of its orbit."""
