"""The equations of motion of a model in velocity coordinates."""
