"""Loads on bodies and beam nodes, along beams, of heat and of the air."""
