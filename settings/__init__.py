"""The settings: what the operator of a process sets, and what a run may choose."""
