"""The experiment: a safe motion around the trajectory, the envelope, and a simulated robot."""
