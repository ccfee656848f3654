"""Compression: one engine, a small policy for each profile, and what makes a summary acceptable."""
