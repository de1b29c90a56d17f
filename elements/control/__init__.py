"""Sensors and controllers: the loop around a model, its linear laws, and realisations of filters."""
