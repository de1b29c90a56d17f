"""Actuators other than wheels: thrusters and magnetic torquers."""
