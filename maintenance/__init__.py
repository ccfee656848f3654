"""What runs between turns: doctor, explain, regenerate, transfer, re-embedding."""
