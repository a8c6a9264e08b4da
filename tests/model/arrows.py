"""The arrows of the code's tables that no search takes, each with its reason."""

from typing import Final

OUT: Final = {
    ("task", "PENDING", "SKIPPED"): "of runs alone: definitions and their chain are left to the simulation",
    ("task", "PENDING", "MISSED"): "of runs alone: definitions and their chain are left to the simulation",
}
