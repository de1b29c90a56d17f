"""Vibration: natural modes, participation of appendages, and what follows from them."""
