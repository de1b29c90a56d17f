"""Checks of how the interfaces of a flexible body are attached to others."""

from collections.abc import Mapping, Sequence

from femb.base.checks import Checks
from femb.base.values import shown
from femb.elements.marker import Attachment


def check_start(check: Checks) -> None:
    """The attachment of the root: on a body, whose motion is then that of the flexible body."""
    item = check.item
    if item.start is None:
        return
    if not isinstance(item.start, Attachment):
        check.fail("start", f"got {shown(item.start)}, wanted {Attachment.wanted}")
        return
    if item.start.report(check, "start") and item.start.body is None:
        check.fail("start.body", _on_beam("the root", f"body {item.name!r}"))
    for word in ("position", "quaternion", "euler_angles", "velocity", "angular_velocity"):
        check.require(word, getattr(item, word) is None, "the body is on another: give it there")


def check_interfaces(check: Checks, others: Sequence[str]) -> None:
    """The attachments of the interfaces beside the root, which are stored; others : their names in the file."""
    item, attached = check.item, {}
    if item.interfaces is None or "interfaces" in check.bad:
        return
    for name, given in item.interfaces.items():
        field = f"interfaces.{name}"
        if name not in others:
            listed = ", ".join(map(repr, others)) or "none"
            check.fail(field, f"is not in the file; interfaces beside the root: {listed}")
            continue
        try:
            end = Attachment(**given) if isinstance(given, Mapping) else given
        except TypeError as error:
            check.fail(field, f"got {shown(given)}, wanted an attachment ({error})")
            continue
        if not isinstance(end, Attachment):
            check.fail(field, f"got {shown(given)}, wanted {Attachment.wanted}")
        elif end.report(check, field):
            if end.body is None:
                check.fail(f"{field}.body", _on_beam("an interface", f"body '{item.name}.{name}'"))
            attached[name] = end
    object.__setattr__(item, "interfaces", attached)


def _on_beam(what: str, body: str) -> str:
    return f"is missing: {what} is attached to a body; to join a beam, give the beam's end on {body}"
