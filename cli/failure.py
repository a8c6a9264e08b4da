class Failure(Exception):
    """A command could not do its work, for a reason its user can read; it is printed without a traceback."""
