"""Draw the picture of docs/howto/report.md: ``python docs/make_report_image.py``; it needs Chromium.

Runs the case ``satellite_forced`` with soft booms, and takes a picture of the top of its report.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from oracles.browser import Browser  # noqa: E402

import femb  # noqa: E402

SIZE = 1180, 960
AT = 0.75  # s
SOFT = ("sections.boom.youngs_modulus=2e7", "sections.boom.shear_modulus=8e6")
SEEN = f"femb.player.play(false); femb.player.seek({AT}); femb.player.viewer.render()"


def main() -> None:
    case = femb.load_case(ROOT / "cases" / "satellite_forced.toml", SOFT)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        file = place / "results.h5"
        femb.simulate(case.model, case.run, case_text=case.text, out=file)
        page = femb.report(femb.Results.read(file), place / "report.html", name=file.name)
        with Browser(place / "profile", *SIZE) as browser:
            browser.open(page)
            browser.value(SEEN)
            browser.picture(ROOT / "docs" / "images" / "report.png")


if __name__ == "__main__":
    main()
