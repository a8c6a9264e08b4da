"""Mistakes about the recorder of events, and about followers of the feed."""

from typing import Final

from tests.simulation.mistakes.bug import API, RECORD, bug

BUGS: Final = (
    bug(
        "an event that has a row counts as listed",
        f"{RECORD}:Recorder._record",
        "entries = [entry for entry in entries if entry.key not in listed]",
        "entries = [FeedEntry.of(event) for event in events if event.id not in there]",
        mix="followed",
    ),
    bug(
        "an event that has a row is listed again",
        f"{RECORD}:Recorder._record",
        "if there:",
        "if False:",
        mix="followed",
    ),
    bug(
        "an event is looked for behind the newest page",
        f"{RECORD}:Recorder._record",
        "min(there.values())",
        "max([end.number if end else 0, *there.values()])",
        mix="followed",
    ),
    bug(
        "entries are lost when another recorder writes the page first",
        f"{RECORD}:Recorder._append",
        "if self._events.append(page):",
        "if self._events.append(page) or True:",
        mix="followed",
    ),
    bug(
        "a page of a feed leaves a number out",
        f"{RECORD}:Recorder._append",
        "number=end.number + 1 if end else 1",
        "number=end.number + 2 if end else 1",
        mix="followed",
    ),
    bug(
        "changes that are not written count as recorded",
        f"{RECORD}:Recorder.record",
        "found.failed |= {number for _, number in pairs}",
        "pass",
        mix="followed",
    ),
    bug(
        "a follower goes on behind the page that it has not finished",
        f"{API}.events.feed:_Reading._places",
        "place > at",
        "place[0] > at[0]",
        mix="followed",
    ),
    bug(
        "a version of a task is no event",
        "postdate.domain.task_event:task_event",
        "sequence=after.version",
        "sequence=max(1, after.version - 1)",
        mix="followed",
    ),
    bug(
        "a subscription of newer code holds up the events of all tenants",
        f"{RECORD}:Recorder.record_events",
        "except Unreadable:",
        "except ZeroDivisionError:",
        test="tests/unit/record/test_record.py"
        "::test_a_subscription_that_cannot_be_read_stops_no_other_tenant_and_no_bus",
    ),
    bug(
        "a paused subscription gets no delivery of an event from before its pause",
        "postdate.use_cases.notifying:Notifier.notify",
        "subscription.is_told(event)",
        "subscription.paused_at is None",
        test="tests/unit/record/test_notified.py"
        "::test_an_event_from_before_a_pause_is_delivered_though_its_worker_comes_during_the_pause",
    ),
    bug(
        "an event behind a pause goes ahead of the events of the pause",
        "postdate.use_cases.notifying:Notifier._chain",
        "self._missing(earlier, subscription)",
        "()",
        test="tests/unit/record/test_notified.py"
        "::test_an_event_behind_a_pause_waits_for_the_events_of_the_pause",
    ),
    bug(
        "a replay of a part of a pause takes its mark away",
        "functions.run_tasks.replay:_covers",
        "is_whole and step.since <= since",
        "step.since <= since",
        test="tests/unit/run_tasks/test_replay.py::test_a_replay_of_a_part_of_a_pause_keeps_its_mark",
    ),
    bug(
        "a record is listed again behind the event that a history made",
        f"{RECORD}:Recorder._record",
        "entry.key not in listed",
        "entry not in listed",
        test="tests/unit/record/test_mend.py"
        "::test_a_record_behind_the_event_that_a_history_made_is_not_listed_again",
    ),
    bug(
        "an event that has expired counts as missing",
        "functions.record.mend:Mender._unexpired",
        "if event.occurred_at > self._expired_until",
        "",
        test="tests/unit/record/test_mend.py::test_an_event_that_has_expired_is_not_made_again",
    ),
    bug(
        "a row that no page lists stays so",
        "functions.record.mend:Mender.check",
        "if unlisted := span.unlisted(until=until):",
        "if unlisted := []:",
        test="tests/unit/record/test_mend.py::test_a_row_that_no_page_lists_is_listed_and_delivered_once",
    ),
    bug(
        "a refused writer of a page tries again at once",
        f"{RECORD}:Recorder._append",
        "longest * self._draw()",
        "timedelta()",
        test="tests/unit/record/test_record.py"
        "::test_a_writer_that_was_refused_waits_longer_each_time_and_reads_the_pages_behind_its_pause",
    ),
)
