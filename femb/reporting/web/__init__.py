"""Reports of results: one page of HTML for browsers, with its scripts and data, that needs no network.

Python chooses and packs the data (`femb.reporting.page`); the scripts beside these modules show them.
"""
