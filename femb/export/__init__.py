"""Exporters, pictures, figures and pages: from `Results` to files; see docs/howto/extend.md.

Nothing is imported here, since a run imports `femb.pictures.check`.
"""
