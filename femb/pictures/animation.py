"""Films of the structure, GIF or WebP by pillow, MP4 by ffmpeg; each image is as in `femb.pictures.picture`."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from femb.base.errors import ResultError
from femb.base.types import Floats
from femb.pictures.drawing import FOOTER, INK, WIDTH
from femb.pictures.picture import camera_axes, check_drawable, end_paths, extent_of, faces_of, page, surfaces_of
from femb.results.results import Results, results_of
from femb.results.view import INERTIAL, View

SUFFIXES = (".gif", ".webp", ".mp4")
SHADES = 64  # colours of a GIF; its images have one palette, so that only what moves is stored
SAMPLES = 5  # images that it is of
NEARLY_WHITE = 248  # of 255
QUALITY = 60  # of WebP, of 100
LENGTH = 10.0  # s: longest film if no speed is given
IMAGE_LIMIT = 20_000
MARGIN_INSTANTS = 60  # output times that determine the part of the plane shown


def animate(
    results: Results | str | Path,
    path: str | Path,
    *,
    frame: str = INERTIAL,
    azimuth: float = -60.0,
    elevation: float = 25.0,
    times: tuple[float | None, float | None] = (None, None),
    speed: float | None = None,
    fps: int = 20,
    dpi: int = 80,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Draw the motion as a film; returns the path written.

    Parameters:
        results: a run with bodies or beams.
        path: ``.gif``, ``.webp``, half as large, or ``.mp4``, by the program ffmpeg; by default a GIF. The folder is
            created.
        frame: as in `femb.pictures.picture.picture`.
        azimuth: degrees, as in `femb.pictures.picture.picture`.
        elevation: degrees, as in `femb.pictures.picture.picture`.
        times: first and last instant, s; None for the first or last of the results.
        speed: seconds of the motion in one second of the film; None for real time, or faster for at most 10 s.
        fps: images per second. Each shows the nearest output time: the film is no smoother than the output.
        dpi: dots per inch; the film is 9 inches wide.
        progress: called as ``progress(done, total)`` after every image.

    Raises:
        ResultError: nothing to draw, an unknown format, frame or time span, a file that cannot be written.
    """
    from matplotlib.collections import PolyCollection

    results, path = results_of(results), Path(path)
    path = path if path.suffix else path.with_suffix(".gif")
    if path.suffix not in SUFFIXES:
        raise ResultError(f"{path}: a film is written as .gif, .webp or .mp4")
    if fps < 1 or (speed is not None and not speed > 0.0):
        raise ResultError(f"fps is {fps} and speed {speed}; both must be greater than 0")
    check_drawable(results)
    instants = _instants(results, times, speed, fps)
    view, camera = View.of(results, frame), camera_axes(azimuth, elevation)
    surfaces = surfaces_of(results, max(extent_of(results, view, [k]) for k in set(instants)))

    def drawn(k: int) -> list[tuple[Floats, tuple[float, ...]]]:
        return faces_of(surfaces, view, camera, k, 1.0)

    sample = instants[:: max(1, len(instants) // MARGIN_INSTANTS)]
    corners = [face for k in sample for face, _ in drawn(k)]
    paths = [line @ camera[:2].T for line in end_paths(results, view, sorted(set(instants)))]
    figure, axes, footer = page(corners, paths, camera, frame, dpi, results.title)
    solid = axes.add_collection(PolyCollection([], linewidths=0.7))
    clock = footer.text(WIDTH / 2, FOOTER / 2, "", fontsize=11, color=INK, ha="center", va="center")
    span = results.time[instants[-1]] - results.time[instants[0]]
    decimals = int(np.clip(2 - np.floor(np.log10(span)), 0, 6)) if span > 0.0 else 3

    def show(k: int) -> None:
        faces = drawn(k)
        solid.set_verts([face for face, _ in faces])
        solid.set_facecolor([colour for _, colour in faces])
        solid.set_edgecolor([colour for _, colour in faces])
        clock.set_text(results.instants(results.time[k : k + 1], f".{decimals}f")[0])

    _write(figure, path, instants, show, fps, dpi, progress)
    return path


def _instants(results: Results, times: tuple[float | None, float | None], speed: float | None, fps: int) -> list[int]:
    """The output time of every image."""
    time = results.time
    if not time.size:
        raise ResultError("these results have no output times, so there is no motion to draw")
    first = time[0] if times[0] is None else max(times[0], time[0])
    last = time[-1] if times[1] is None else min(times[1], time[-1])
    if first > last:
        unit = "" if results.counted else " s"
        span = f"from {time[0]:g} to {time[-1]:g}{unit}"
        raise ResultError(f"no motion from {times[0]} to {times[1]}{unit}: the results go {span}")
    rate = speed or max(1.0, (last - first) / LENGTH)
    images = max(2, round((last - first) / rate * fps) + 1)
    if images > IMAGE_LIMIT:
        raise ResultError(
            f"a film of {images} images is too long, at most {IMAGE_LIMIT}: give a larger speed or a smaller fps"
        )
    return [int(np.argmin(np.abs(time - t))) for t in np.linspace(first, last, images)]


def _write(
    figure: Any,
    path: Path,
    instants: list[int],
    show: Callable[[int], None],
    fps: int,
    dpi: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(dpi)

    def images() -> Iterator[Any]:
        for done, k in enumerate(instants, start=1):
            show(k)
            yield canvas
            if progress is not None:
                progress(done, len(instants))

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (_write_mp4 if path.suffix == ".mp4" else _write_images)(figure, path, images(), fps)
    except OSError as error:
        raise ResultError(
            f"{path}: the film cannot be written ({error}). Check the folder and its permissions"
        ) from error


def _write_mp4(figure: Any, path: Path, images: Iterable[Any], fps: int) -> None:
    from matplotlib.animation import FFMpegWriter

    if not FFMpegWriter.isAvailable():
        raise ResultError(
            f"{path}: MP4 is written by the program ffmpeg, which is not installed; write .gif or .webp instead"
        )
    writer = FFMpegWriter(fps=fps)
    with writer.saving(figure, str(path), figure.dpi):
        for _ in images:
            writer.grab_frame()


def _write_images(figure: Any, path: Path, images: Iterable[Any], fps: int) -> None:
    from PIL import Image

    def drawn(canvas: Any) -> Any:
        canvas.draw()
        return Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])

    frames = [drawn(canvas) for canvas in images]
    words: dict[str, Any] = {"quality": QUALITY}
    if path.suffix == ".gif":
        few = frames[:: max(1, len(frames) // SAMPLES)]
        sample = Image.fromarray(np.concatenate([np.asarray(each) for each in few])).quantize(SHADES)
        palette = np.reshape(sample.getpalette() or [], (-1, 3))
        palette[palette.min(axis=1) > NEARLY_WHITE] = 255  # else a mean of the background and greys beside it
        sample.putpalette(palette.ravel().tolist())
        frames, words = [each.quantize(palette=sample, dither=Image.Dither.NONE) for each in frames], {"optimize": True}
    first, *others = frames
    # whole units of the format, which add up to the time of the film
    unit = 10 if path.suffix == ".gif" else 1
    ends = unit * np.round(np.arange(len(frames) + 1) * 1000.0 / (unit * fps))
    first.save(path, save_all=True, append_images=others, duration=np.diff(ends).astype(int).tolist(), loop=0, **words)
