"""Every text that is sent to a model, and nothing else."""
