"""Figures of `Results`: `femb.export.plots.figures` draws them, `femb.export.plots.check` checks those of a case.

Nothing is imported here, since a run imports the latter.
"""
