"""Controllers: their linear laws, and realisations of filters."""
