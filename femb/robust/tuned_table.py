"""Tuning of gains by a table: the rows one after the other, each over the angles that are nearest to its own.

Source: docs/theory/robust.md, section 8.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from femb.base.errors import ModelError
from femb.base.values import nearest
from femb.case import load_case
from femb.case.parameters import Parameter
from femb.robust.tuning import NOISE, Tuned, gains_in, limit_of, reached, tune
from femb.robust.uncertain import uncertain
from femb.study.sensitivity import parameters_of, read_either

# Of a limit: by so much more it may be exceeded between rows before a note says so.
CLOSE = 1e-3


def tune_schedule(
    case: str | Path,
    over: str,
    gains: Mapping[str, Any] | Sequence[str] = (),
    by: Sequence[str] | Mapping[str, Any] | str | None = None,
    *,
    peak: float | None = None,
    decay: float = 0.0,
    starts: int = 4,
    seed: int = 1,
    overrides: Iterable[str] = (),
    **words: Any,
) -> Tuned:
    """Tune the rows of schedules of a case, each for the angles that are nearer to its own than to others.

    The peak and the growth of the answer are also of the angles in the middle of two rows, with interpolated gains.

    Parameters:
        case: path of a case file, whose controllers have schedules.
        over: the entry of the case that sets what the schedules are over, as "joints.drive.start".
        gains: as in ``femb.tune``; entries are in lists of schedules, without the number of the row, as
            "controllers.NAME.schedule.gains.derivative", or "controllers.NAME.schedule.gains.B.0.3" of a matrix.
        by: parameters, as in ``femb.tune``, beside those that set ``over``.
        peak: largest peak of the sensitivity, as in ``femb.tune``.
        decay: 1/s, as in ``femb.tune``.
        starts: of the first row; the others begin at the gains of the row before them.
        seed: of the points.
        overrides: entries to replace, as in ``load_case``.
        words: others of ``femb.tune``: ``least``, ``modes`` and so on.

    Raises:
        ModelError: as in ``femb.tune``; entries that are in no schedule, schedules of other values.
    """
    study = read_either(case, overrides)
    found, given = gains_in(study, gains), tuple(study.overrides)
    at = _values(load_case(study.case, given), found)
    chosen = {} if not by and not study.parameters else parameters_of(study, by)
    others = {name: each for name, each in chosen.items() if over not in each.keys}
    least = words.pop("least", NOISE)
    middles = [0.5 * (a + b) for a, b in pairwise(at)]
    bounds = [at[0], *middles, at[-1]]
    rows, tables = list[Tuned](), {name: _table(each) for name, each in found.items()}
    for k, x in enumerate(at):
        angle = {"entry": over, "value": x, "range": [bounds[k], bounds[k + 1]]}
        of_row = {name: each | _entries(found[name], k) for name, each in tables.items()}
        row = tune(
            study.case, of_row, others | {"schedule": angle}, least=least, peak=peak, decay=decay, starts=starts,
            seed=seed, overrides=(*given, f"{over}={x!r}"), **words,
        )  # fmt: skip
        rows.append(row)
        tables = {name: each | {"value": row.gains[name]} for name, each in tables.items()}
        starts = 1
    entries = {key: value for row in rows for key, value in row.entries.items()}
    notes = [f"{over} = {x:.7g}: {note}" for x, row in zip(at, rows, strict=True) for note in row.notes]
    tops, growths = [row.peak for row in rows], [row.growth for row in rows]
    options = {word: each for word, each in words.items() if word != "laws"}
    for x in middles:
        set_ = [f"{key}={value!r}" for key, value in entries.items()]
        form = uncertain(study.case, others, overrides=(*given, *set_, f"{over}={x!r}"), **options)
        top, growth = reached(form.without_errors(), seed)
        tops, growths = [*tops, top], [*growths, growth]
        beyond = top > limit_of(least, peak) * (1.0 + CLOSE) or growth > -decay * (1.0 - CLOSE)
        more = "; a limit is exceeded: more rows" if beyond else ""
        notes.append(f"{over} = {x:.7g}, between rows: peak {top:.6g}, growth {growth:.6g} 1/s{more}")
    labels = [f"at {x:.6g}" for x in at]
    return replace(
        rows[0],
        gains={f"{name} {label}": row.gains[name] for name in found for label, row in zip(labels, rows, strict=True)},
        begun={f"{name} {label}": row.begun[name] for name in found for label, row in zip(labels, rows, strict=True)},
        entries=entries,
        least=max(row.least for row in rows),
        peak=max(tops),
        growth=max(growths),
        plants=tuple(each for row in rows for each in row.plants),
        notes=tuple(notes),
        given=given,
    )


# Of entries: what comes before the number of the row, "controllers.NAME.schedule.gains.KEY", and behind it.
LIST = re.compile(r"(controllers\.(.+)\.schedule\.gains\.[^.]+)(.*)")


def _table(gain: Parameter) -> dict[str, Any]:
    found = {"range": gain.range, "relative": gain.relative}
    return found if gain.value is None else found | {"value": gain.value}


def _entries(gain: Parameter, k: int) -> dict[str, Any]:
    """The entries of a gain in the row k."""
    return {"entries": [LIST.sub(rf"\g<1>.{k}\g<3>", key) for key in gain.keys]}


def _values(case: Any, gains: Mapping[str, Parameter]) -> tuple[float, ...]:
    """The values of the schedules that all gains are in. Raises ModelError: others, or none."""
    scheduled = {name: each.schedule for name, each in case.model.controllers.items() if each.schedule is not None}
    known = [f"controllers.{name}.schedule.gains.{word}" for name, each in scheduled.items() for word in each.gains]
    found = set()
    for name, gain in gains.items():
        for key in gain.keys:
            if (of := LIST.fullmatch(key)) is None or of[1] not in known:
                listed = ", ".join(known) or "none: give a controller a schedule"
                text = f"sets {key}, which is no list of a schedule{nearest(key, known)}; there are: {listed}"
                raise ModelError.at((gain.table, name), text)
            found.add(scheduled[of[2]].at)
    if len(found) != 1:
        raise ModelError("gains: are of schedules with other values, wanted the same: tune them one after the other")
    values: tuple[float, ...] = found.pop()
    return values
