"""What is known about the user: facts by patterns, pins by request, and how they are kept free of contradictions."""
