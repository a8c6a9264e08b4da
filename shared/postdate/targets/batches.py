"""Delivery to a service of AWS that takes several at a call: what its queues and its buses have in common."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from itertools import groupby
from typing import ClassVar, Final

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import DestinationNotAllowed
from postdate.targets.base import Delivered, Delivery, Failed, Receipt, Report, internal_error
from postdate.targets.kind import Listed, check_listed

# SQS, SNS and EventBridge take ten entries in a call.
ENTRIES_MAX: Final = 10
_CODE: Final = re.compile(r"[A-Za-z]{1,60}")


class BatchTarget(ABC):
    """Ten deliveries a call, all to one address. The time for it is the client's own, for it cannot be said per call.

    `final` are the faults of a delivery itself. All others are the destination's, its policy's or its key's: somebody
    can mend them.
    """

    # The name of the service, for reasons.
    name: ClassVar[str]
    # The list of the tenant that an address has to be on.
    listed: ClassVar[Listed]
    # The greatest size of all entries of a call together.
    bytes_max: ClassVar[int]
    # The codes of faults that lie in the delivery itself.
    final: ClassVar[frozenset[str]]

    def __init__(self, *, pool: Executor) -> None:
        self._pool = pool

    @abstractmethod
    def size(self, delivery: Delivery) -> int:
        """No less than the service will count."""

    @abstractmethod
    def call(self, batch: Sequence[Delivery]) -> Sequence[str | None]:
        """Makes one call. Returns for each delivery None, or the code of its refusal; empty if the answer has no
        code."""

    def in_order(self, address: str) -> bool:
        """True if a call to this address waits for the call before it."""
        return False

    def start(self, deliveries: Sequence[Delivery], report: Report) -> None:
        """Refuses addresses that are not on the tenant's list, and sends the rest in batches for each address."""
        allowed = []
        for delivery in deliveries:
            try:
                check_listed(self.listed, delivery.destination.address, delivery.allowed)
            except DestinationNotAllowed as refused:
                report(
                    delivery, Failed(reason=f"destination not allowed: {refused}", retry=False, heard=False)
                )
            else:
                allowed.append(delivery)
        for address, group in groupby(sorted(allowed, key=_address), key=_address):
            batches = list(self.batches(group))
            for job in [batches] if self.in_order(address) else [[batch] for batch in batches]:
                self._pool.submit(self._reported, job, report)

    def batches(self, deliveries: Iterator[Delivery]) -> Iterator[list[Delivery]]:
        """Yields batches in order, within both limits of a call. A delivery that is larger than the limit goes
        alone."""
        batch: list[Delivery] = []
        size = 0
        for delivery in deliveries:
            bytes_ = self.size(delivery)
            if batch and (len(batch) == ENTRIES_MAX or size + bytes_ > self.bytes_max):
                yield batch
                batch, size = [], 0
            batch.append(delivery)
            size += bytes_
        if batch:
            yield batch

    def _reported(self, batches: Sequence[Sequence[Delivery]], report: Report) -> None:
        for batch in batches:
            try:
                receipts = self._send(batch)
            except Exception as error:
                receipts = [internal_error(error)] * len(batch)
            for delivery, receipt in zip(batch, receipts, strict=True):
                report(delivery, receipt)

    def _send(self, batch: Sequence[Delivery]) -> Sequence[Receipt]:
        try:
            codes = self.call(batch)
        except ClientError as error:
            failed = self._failed(error.response.get("Error", {}).get("Code", ""))
            # One delivery spoils the call; alone it spoils only its own.
            if not failed.retry and len(batch) > 1:
                return [receipt for delivery in batch for receipt in self._send([delivery])]
            return [failed] * len(batch)
        except BotoCoreError:
            return [Failed(reason=f"{self.name} did not answer")] * len(batch)
        return [Delivered() if code is None else self._failed(code) for code in codes]

    def _failed(self, code: str) -> Failed:
        name = code.rpartition(".")[2]
        if not _CODE.fullmatch(name):
            return Failed(reason=f"{self.name} did not accept the message")
        retry = name not in self.final
        return Failed(reason=f"{self.name} {name}", retry=retry, down=retry)


def _address(delivery: Delivery) -> str:
    return delivery.destination.address
