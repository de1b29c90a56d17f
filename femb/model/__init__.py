"""The description of a model, and where its parts are at the start."""
