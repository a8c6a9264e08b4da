"""Checks of AWS itself, in a real account: the behaviour that Postdate relies on and that no local engine proves.

A case is a function from the bed to its observation; its docstring states the expectation. `run.CASES` names them. A
case raises Unexpected when AWS behaves otherwise. Each resource of a run has the run's name and is removed at its end.
"""
