"""The capacity model: lateness, throttles and price of a load, computed from AWS's documented limits."""
