"""Pictures: figures of results, drawings of models, animations."""
