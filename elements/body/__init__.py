"""Rigid bodies, point masses and the ground."""
