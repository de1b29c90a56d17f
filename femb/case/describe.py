"""What the keys of a table mean, with their units, from the docstring of the dataclass they are fields of."""

import inspect
import re

from femb.case.schema import keys_of


def described(kind: type) -> dict[str, str]:
    """Texts by key; under "" that of the table as a whole, its first paragraph.

    A docstring says ``mass : kg.`` or, for several fields at once, ``force, torque : three numbers.``; a key that is
    explained in no such way gets the first sentence that names it.
    """
    keys = list(keys_of(kind))
    paragraphs = [part for each in kind.__mro__ for part in _paragraphs(each)]
    result = {"": paragraphs[0] if paragraphs else kind.__name__}
    for read in (_headed, _mentioned):
        for key in keys:
            text = next(filter(None, (read(part, key, keys) for part in paragraphs)), None)
            if text:
                result.setdefault(key, text)
    return result


def _paragraphs(kind: type) -> list[str]:
    """The docstring of a class itself by paragraphs, each on one line."""
    text = vars(kind).get("__doc__") or ""
    if kind is object or text.startswith(f"{kind.__name__}("):  # what dataclass makes where there is none
        return []
    parts = [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]
    return [part.replace("``", "") for part in parts if not part.startswith(("Raises", "Source"))]


def _headed(text: str, key: str, keys: list[str]) -> str | None:
    """What follows ``key :``, up to the next such head or the end of the paragraph."""
    word = rf"(?:{'|'.join(map(re.escape, keys))})\b(?: \([^()]*\))?"
    heads = list(re.finditer(rf"(?<![\w.]){word}(?:(?:, or |, and |, | or | and ){word})* : ", text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=False):
        if re.search(rf"\b{key}\b", re.sub(r"\([^()]*\)", "", head[0])):
            said = text[head.end() : end].strip()
            return said if head[0] == f"{key} : " else head[0] + said
    return None


def _mentioned(text: str, key: str, keys: list[str]) -> str | None:
    """The sentence that names the key."""
    sentences = re.split(r"(?<=[a-z0-9)]\.) (?=[A-Za-z])", text)
    return next((sentence for sentence in sentences if re.search(rf"\b{key}\b", sentence)), None)
