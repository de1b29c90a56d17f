"""The report: a page for the browser, with its data and its scripts in web/."""
