"""Joints, drivers and latches, the rows of constraint they are made of, and forces in joints."""
