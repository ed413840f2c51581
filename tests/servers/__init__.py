"""The real servers the suite runs on: each is started by the run itself, on a free port, and dies with it."""
