"""JSON: everything in one file that a person can read."""
