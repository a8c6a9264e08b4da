"""The benchmark: every figure is measured in the run that prints it, on a local stack of its own.

A case is a function from the bed it runs on and the plan of the run to lines, each one JSON object; `run.CASES` names
them. A line's `floor` is the same work done by the least engine calls in a bare loop in the same run, in the unit of
the line's main figure; `ratio` is ours by the floor.
"""
