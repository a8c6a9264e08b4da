"""A game day on a running local stack: faults that operators meet, one by one.

Each fault has to be seen (a metric, the overview or an event), told (its alarm fires on the metrics really emitted),
and put right by the commands of docs/runbook.md.
"""
