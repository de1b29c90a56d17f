"""Bundle the libraries of the report page: ``python docs/bundle_web_libraries.py``; it needs npm.

Takes what femb/reporting/web/libraries.js names from three.js and uPlot, in the versions below, into
femb/reporting/web/libraries.min.js and libraries.min.css, and their licences into LICENSES.txt there.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

WEB = Path(__file__).resolve().parent.parent / "femb" / "reporting" / "web"
LIBRARIES = {"three": "0.187.0", "uplot": "1.6.32"}
BUNDLER = ("esbuild", "0.28.2")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "package.json").write_text("{}")
        wanted = [f"{name}@{version}" for name, version in (*LIBRARIES.items(), BUNDLER)]
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", *wanted], cwd=place, check=True)
        modules = place / "node_modules"
        shutil.copy(WEB / "libraries.js", place)
        (program,) = (modules / "@esbuild").glob("*/bin/esbuild")
        words = ["--bundle", "--minify", "--format=iife", "--global-name=libraries", "--legal-comments=none"]
        head = ", ".join(f"{name} {version}" for name, version in LIBRARIES.items())
        words += ["--target=es2020", f"--banner:js=/* {head}: MIT licence, femb/reporting/web/LICENSES.txt */"]
        out = WEB / "libraries.min.js"
        subprocess.run([program, "libraries.js", *words, f"--outfile={out}"], cwd=place, check=True)
        if re.search("</script", out.read_text(), re.IGNORECASE):
            raise SystemExit(f"{out}: contains the end of a script element, so that it cannot stand inside a page")
        styles = (modules / "uplot" / "dist" / "uPlot.min.css").read_text()
        (WEB / "libraries.min.css").write_text(styles.rstrip() + "\n")
        texts = [
            f"{name} {version}\n\n{(modules / name / 'LICENSE').read_text().strip()}\n"
            for name, version in LIBRARIES.items()
        ]
        begin = "Licences of the libraries in libraries.min.js and libraries.min.css, which are bundled by\n"
        begin += "python docs/bundle_web_libraries.py\n\n"
        (WEB / "LICENSES.txt").write_text(begin + "\n".join(texts))


if __name__ == "__main__":
    main()
