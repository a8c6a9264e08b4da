"""One module a command, found by its name: a docstring for the help, `arguments(parser)` and `run(options)`.

`run` answers what the command has to say: a dict, which `--json` prints as it is. `show` turns it into text.
"""
