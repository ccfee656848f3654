"""The wiring: which node follows which, and the compiled graph."""
