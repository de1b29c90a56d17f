"""The command of hand-over to other programs: ``femb handover``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from femb.cli.options import START, WRITING, damping_of, pairs
from femb.cli.output import of_case

if TYPE_CHECKING:
    from femb.case import Case

# Files by which the results of each format are known.
WRITTEN = {
    "hybrid": "hybrid.json",
    "state-space": "plant.npz",
    "craig-bampton": "cb_*.npz",
    "nastran": "cb_*.op4",
    "42": "SC_*_bodies.txt",
    "sliding-masses": "sliding_masses.json",
    "hinged-panels": "hinged_panels.json",
    "port": "port.npz",
    "fmu": "linear.fmu",
}
FORMATS = tuple(WRITTEN)


@of_case("hybrid.json", lambda words: [WRITTEN[name] for name in words["formats"]])
@click.option("--to", "formats", multiple=True, type=click.Choice(FORMATS), required=True, help="What to write.")
@click.option("--held", metavar="BODY", help="The hub; all formats but fmu need it.")
@click.option("--modes", "count", type=int, default=10, metavar="N", show_default=True, help="Modes of each appendage.")
@START
@damping_of("modes of appendages")
@click.option("--point", "points", multiple=True, metavar="NAME=ITEM", help="A point, as eye=bodies.panel.")
@click.option("--child", metavar="ITEM", help="The point of the child port, as beams.boom.-1.")
@click.option("--reference", type=click.Choice(("cm", "joint")), default="cm", help="Of 42: whole or appendages [cm].")
@click.option(
    "--own-dampers",
    "dampers",
    is_flag=True,
    help="The model's own dampers, and no default ratio, in matrices of the whole.",
)
@click.option("--half-hf", is_flag=True, help="Of 42 with --reference joint: write Hf halved, since 42 adds it twice.")
@click.option("--input", "inputs", multiple=True, metavar="NAME", help="An input of the FMU, as bodies.hub.torque.")
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="An output of the FMU, as joints.hinge.angle.")
@click.option("--step", type=float, default=0.01, metavar="S", show_default=True, help="Suggested by the FMU.")
@WRITING
def handover(
    loaded: "Case",
    file: Path,
    formats: tuple[str, ...],
    start: str | None,
    points: tuple[str, ...],
    half_hf: bool,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    **words: Any,
) -> list[object]:
    """Write files of a flexible satellite for other programs: for control, loads and simulation.

    The FMU is the linear model of femb linearize, with --held that with this hub; all others are made of modes with the
    hub held. A format that is refused does not stop the others.
    """
    from femb.handover.files import WRITERS, HandOver
    from femb.vibration.completion import given

    model, begins = given(loaded, start)
    of = HandOver(
        model,
        start=begins,
        points=pairs("--point", points, "NAME=ITEM") or None,
        hf_factor=0.5 if half_hf else 1.0,
        inputs=inputs or None,
        outputs=outputs or None,
        **words,
    )
    parts: list[object] = []
    for name in dict.fromkeys(formats):
        try:
            parts += WRITERS[name](of, file.parent)
        except Exception as error:  # the command raises it after the other formats
            parts.append(error)
    return parts
