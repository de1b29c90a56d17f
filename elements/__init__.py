"""The element library: one physical thing a file; ``__all__`` is the catalogue."""

if __name__ != "femb.elements":
    raise ImportError("the element library is imported as femb.elements, not as a top-level package")
