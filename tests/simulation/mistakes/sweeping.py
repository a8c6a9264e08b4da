"""Mistakes about passes, the watermark and its epochs."""

from typing import Final

from tests.simulation.mistakes.bug import SWEEP, bug

BUGS: Final = (
    bug(
        "there is no closing pass",
        "postdate.domain.sweeping:wants_call",
        "return stage is Stage.OPEN or moved_at >= unseen_from",
        "return stage is Stage.OPEN",
        mix="unsent",
    ),
    bug(
        "a pass is noted before its calls are sent",
        f"{SWEEP}.sweep_group:GroupSweeper.sweep",
        "found = list(self._found(sweep))",
        "found = list(self._found(sweep)); self.passes.record("
        "SweepProgress(minute=sweep.minute, group=sweep.group, stage=sweep.stage, opened_at=opened_at))",
        mix="deaf",
    ),
    bug(
        "the audit sends nothing",
        "postdate.domain.sweeping:wants_call",
        "return overdue and not leased",
        "return False and not leased",
        mix="vanishing",
    ),
    bug(
        "the watermark rises over an unfinished minute",
        f"{SWEEP}.tick:Ticker._raise_watermark",
        "done = list(takewhile(audited, minutes))",
        "done = list(minutes)",
    ),
    bug(
        "a sweeper raises a watermark that was reset",
        "postdate.stores.passes_dynamo:DynamoPasses.raise_watermark",
        "lower & self._is_epoch(to.epoch)",
        "lower",
        mix="rewound",
    ),
    bug(
        "passes of an earlier epoch count",
        "postdate.domain.sweeping:Horizon.believed",
        "done.epoch < epoch or ",
        "",
        mix="rewound",
    ),
    bug(
        "the watermark rises over passes of an earlier epoch",
        f"{SWEEP}.tick:Ticker._raise_watermark",
        "done.epoch == mark.epoch",
        "True",
        test="tests/unit/sweep/test_put_back.py::test_a_pass_that_could_not_be_made_again_holds_the_watermark",
    ),
    bug(
        "packets that the queue refused are lost",
        "postdate.runtime.queue:SqsQueue._send_chunk",
        'failure["Id"] for failure in response.get("Failed", ())',
        'failure["Id"] for failure in ()',
        mix="deaf",
    ),
    bug(
        "a failed send raises no error",
        "postdate.runtime.queue:SqsQueue._send_chunk",
        'raise Unavailable(f"{type(error).__name__} on sending") from error',
        "return",
        mix="deaf",
    ),
)
