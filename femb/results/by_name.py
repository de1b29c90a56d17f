"""Arrays, figures, tables and spectra of quantities by name; `femb.results.names` reads the names."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from femb.base.types import Floats
from femb.results import spectrum as spectra
from femb.results import tables
from femb.results.names import named, short_names

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

    from femb.analysis.report import Shown
    from femb.results.results import Results


class ByQuantity:
    """The part of `femb.Results` that takes names of quantities, such as ``"hub.position"``."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all quantities over time, as ``results["hub.position"]``, `plot` and others take them; a last
        .x, .y, .z or .w selects a component, and ``"boom.3.position"`` a node of a beam."""
        return tuple(short_names(self._results))

    def __getitem__(self, name: str) -> Floats:
        """(T, ...) of a quantity by name, in SI units, see `names`. Raises ResultError for unknown names."""
        return named(self._results, name).values

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.names)

    __iter__: None = None  # by their names they are no sequence

    def plot(
        self,
        *names: str,
        path: str | Path | None = None,
        items: Sequence[str] | None = None,
        frame: str | None = None,
        times: tuple[float | None, float | None] | None = None,
        spectrum: spectra.SpectrumKind | None = None,
        dpi: int = 150,
    ) -> "Figure":
        """Draw quantities over time, one below another; returns the matplotlib figure, with units at its axes.

        names : as ``"hub.euler_angles"`` or ``"right.tip.deflection"``, see `names`, and whatever ``femb.plot`` takes,
            such as ``"tips"``; none for the overview. path : of a picture file to write as well, in the format of its
            suffix. items : patterns of the items to show. frame : the frame that the motion is relative to, see
            `in_frame`. times : first and last instant, s. spectrum : "psd" or "amplitude", draw that over the frequency
            in Hz instead, see `spectrum`. dpi : dots per inch of the file, -.

        Raises ResultError for an unknown name, with the most similar ones, and where the file cannot be written.
        """
        import femb  # its public names alone: what draws results is above them

        drawn = femb.figure(
            self._results, names or None, items=items, frame=frame, times=times, spectrum=spectrum, path=path, dpi=dpi
        )
        return drawn

    def to_pandas(self, *names: str) -> "pandas.DataFrame":
        """Quantities over time as a pandas DataFrame with the time (s) as its index; all of them without names.

        names : as ``"hub.position"``, see `names`. Columns are ``bodies.hub.position.x``, of beams
        ``beams.boom.position.3.x`` with the number of the node. Raises ResultError for unknown names, without pandas.
        """
        return tables.to_pandas(self._results, names)

    def to_xarray(self, *names: str) -> "xarray.Dataset":
        """Quantities over time as an xarray Dataset with units, its dimensions time (s), axis and component; others are
        named by their path. names : as of `to_pandas`. Raises ResultError for unknown names, without xarray."""
        return tables.to_xarray(self._results, names)

    def spectrum(self, name: str, kind: spectra.SpectrumKind = "psd") -> spectra.Spectrum:
        """The spectrum of a quantity, as ``"hub.angular_velocity"``: frequency (F,) Hz and values (F, ...).

        name : see `names`. kind : "psd", the one-sided power spectral density with Hann's window and without the mean,
        in the unit's square per Hz; or "amplitude", that of each sine, in the unit itself. Output times must have equal
        intervals. ``results.plot(name, spectrum=kind)`` draws it.
        Raises ResultError where they do not, and for unknown names. Source: scipy.signal.periodogram.
        """
        return spectra.spectrum(self._results, name, kind)

    def show(self, *, height: int = 820, frames: int = 600) -> "Shown":
        """The page of ``femb report`` for a notebook, inline where this is the last value of a cell.

        height : in pixels. frames : largest number of output times of the animation. Raises ResultError: nothing to
        show. The same as ``femb.show(results)``.
        """
        import femb  # its public names alone: what shows results is above them

        return femb.show(self._results, height=height, frames=frames)

    @property
    def _results(self) -> "Results":
        return cast("Results", self)
