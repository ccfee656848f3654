"""Chat models from their names, a model that needs nothing, token estimates, and the extractive core."""
