"""Wheels with motors in bodies, beam nodes and interfaces of flexible bodies."""
