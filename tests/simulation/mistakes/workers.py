"""Mistakes about busy workers, and about calls to AWS that have no end or reach another tenant."""

from typing import Final

from tests.simulation.mistakes.bug import BATCH, CLAIMING, GATE, HIDDEN, INTAKE, LEDGER, TASKS, bug

BUGS: Final = (
    bug(
        "a busy worker receives no messages",
        f"{INTAKE}:Intake.asks_at",
        "if self.asks or",
        "if True or",
        mix="kept",
    ),
    bug(
        "a worker deletes messages before it handles them",
        f"{INTAKE}:Intake.let_go",
        "self._open.keys() - set(unfinished)",
        "list(self._open)",
        mix="kept and crashing",
    ),
    bug(
        "a worker deletes messages that it could not finish",
        f"{INTAKE}:Intake.let_go",
        "for message in done if message.message_id not in failed",
        "for message in done",
        mix="kept and crashing",
    ),
    bug(
        "calls to a slow destination stay where they are",
        f"{GATE}.breakers:Breakers.foresee",
        "return {id for id, (way, waits) in ways.items() if waits and way in slow}",
        "return set()",
        (f"{GATE}.breakers:Breakers.past", "known[way].is_slow(now)", "False"),
        mix="kept",
    ),
    bug(
        "a destination is slow at once",
        "functions.run_tasks.in_flight:InFlight.begin",
        "self._watched.append((now, delivery, circuit))",
        "self._watched.append((now - SLOW_AFTER, delivery, circuit))",
        mix="kept",
    ),
    bug(
        "a moved call is lost",
        f"{BATCH}:Batch.send_to_slow_lane",
        "self.outbox.move(call.due, call.message)",
        "pass",
        mix="kept",
    ),
    bug(
        "payments stay hidden for a lease",
        f"{HIDDEN}:HiddenMessages._grace",
        "GRACE * (1 << doublings)",
        "self._lease",
        mix="bereft",
    ),
    bug(
        "messages come back while their worker posts",
        f"{HIDDEN}:HiddenMessages._renew",
        "self.renew_at = now +",
        "self.renew_at = now + self._lease +",
        test="tests/unit/settle/test_hidden.py"
        "::test_a_posting_that_takes_long_hides_its_messages_again_before_they_come_back",
    ),
    bug(
        "conflicts are tried again without an end",
        f"{LEDGER}:DynamoPostings._write",
        "patience -= 1",
        "patience -= 0",
        mix="frozen",
    ),
    bug(
        "a claim that cannot be written is tried without an end",
        f"{CLAIMING}:Claiming.claim",
        "in range(_TRIES)",
        "in range(1000)",
        mix="unwritable",
    ),
    bug(
        "a throttled claim is tried again every two seconds",
        f"{BATCH}:Batch.back_off",
        "timedelta(seconds=pause)",
        "SOON",
        test="tests/unit/run_tasks/test_faults.py"
        "::test_throttled_claims_wait_the_longer_the_later_they_are_and_stay_in_one_packet",
    ),
    bug(
        "a list is made of another tenant's rows",
        f"{TASKS}:DynamoTasks._list",
        "key(wanted.tenant, number)",
        'key("zeta", number)',
    ),
    bug(
        "a task is listed as another tenant's",
        "postdate.stores.task_row:_tenant_listing",
        "listing_key(task.tenant,",
        'listing_key("zeta",',
    ),
    bug(
        "a worker reads another tenant than the task's",
        "functions.run_tasks.sending:Sender._know_tenants",
        "stored = self._read_tenants(ids)",
        'stored = dict.fromkeys(ids, self._read_tenants(["zeta"]).get("zeta"))',
    ),
)
