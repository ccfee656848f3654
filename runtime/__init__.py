"""What nodes work with: shared resources, one turn, background work, telemetry, tools."""
