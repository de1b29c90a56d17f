"""Files that femb writes: their folders are made, and what the system refuses is a ResultError."""

import json

import numpy as np
import pytest

from femb import ResultError
from femb.base.files import to_write, write_json, write_table, write_text


def test_files_are_written_in_new_folders_with_all_digits(tmp_path):
    with np.printoptions(legacy="1.13"):  # as packages that print fewer digits set it
        table = write_table(tmp_path / "a" / "t.csv", ("name", "value"), [("p, q", np.float64(0.1) * 3.0), ("r", 2)])
    assert table.read_text() == 'name,value\n"p, q",0.30000000000000004\nr,2\n'
    assert json.loads(write_json(tmp_path / "b" / "d.json", {"x": np.arange(2.0)}).read_text()) == {"x": [0.0, 1.0]}
    assert write_text(tmp_path / "c" / "u.txt", "ä", encoding="ascii", errors="replace").read_text() == "?"


def test_a_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "t.csv"
    for write in (lambda: write_table(path, ("x",), []), lambda: write_json(path, {}), lambda: write_text(path, "")):
        with pytest.raises(ResultError, match=r"t\.csv: cannot be written \((File exists|Not a directory)\)"):
            write()
    with pytest.raises(ResultError, match=r"t\.csv"), to_write(path):
        raise AssertionError
