"""SQLite: everything in one file."""
