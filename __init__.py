"""everthread."""
