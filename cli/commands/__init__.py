"""Commands, one module each, found by its name: a docstring for the help, `arguments(parser)` and `run(options)`.

`run` returns the answer as a dict, which `--json` prints unchanged. `show` turns it into text.
"""
