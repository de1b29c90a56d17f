"""Units of inputs and outputs of linear models, by their names."""

UNITS = {
    "position": "m",
    "velocity": "m/s",
    "acceleration": "m/s2",
    "turn": "rad",
    "angular_velocity": "rad/s",
    "angular_acceleration": "rad/s2",
    "force": "N",
    "section_force": "N",
    "torque": "N m",
    "section_moment": "N m",
}


def unit_of(name: str) -> str:
    """The unit of an input or output; of one that has none known, as of the factor of a load, its last word.

    Names with the same result have the same unit.
    """
    whole = name[:-2] if name[-2:] in (".x", ".y", ".z") else name
    kind, _, rest = whole.partition(".")
    word = rest.rpartition(".")[2]
    if kind in ("joints", "drivers") and word not in ("force", "torque"):
        # coordinates of joints, and motions of drivers
        return word
    if kind == "joints" and rest.count(".") == 2:
        # the force along a coordinate
        return f"{rest.split('.')[1]} force"
    return UNITS.get(word, whole)
