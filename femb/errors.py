"""The errors femb raises on purpose: each names the item, what was got, what was wanted, and what to try."""


class FembError(Exception):
    """Base of all errors that are the input's or the problem's, not femb's own."""


class ModelError(FembError):
    """A model that describes no physical system: the message names the item and the field.

    ``item`` is its place in the model, such as ``("beams", "right", "length")``, so that a case
    file can add the line.
    """

    def __init__(self, message: str, item: tuple[str, ...] = ()) -> None:
        super().__init__(f"{'.'.join(item)}: {message}" if item else message)
        self.item = item
        self.message = message


class SolveError(FembError):
    """An analysis that could not go on; what was computed so far is kept."""


class ResultError(FembError):
    """A result file that cannot be read or written."""
