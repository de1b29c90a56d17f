"""Model: the description of a system by its items, and the start poses of its bodies and beams."""
