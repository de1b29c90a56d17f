"""Beams, their sections and shapes, and the mechanics of their elements."""
