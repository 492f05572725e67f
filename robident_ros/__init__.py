"""Identify the dynamic parameters of a robot arm from its own motion."""
