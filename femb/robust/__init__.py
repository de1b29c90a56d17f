"""Uncertain linear models: exact forms, worst cases that are found and proved, pointing budgets in closed form."""
