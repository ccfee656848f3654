"""The `everthread` command."""
