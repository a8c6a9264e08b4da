"""Faults on a running local stack under load, and then the promises held against what can be seen.

Clients ask and note what they were told (`notes`), faults come as a seed says (`timeline`, `faults`), and when all is
quiet again the tables, queues and receivers are read (`look`) and judged (`checks`, `money`).
"""
