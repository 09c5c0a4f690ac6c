"""The ledger as a state machine; `make fuzz` runs it longer."""

import os

from hypothesis import HealthCheck, settings

from fuzzing.ledger import LedgerMachine

LONG = bool(os.environ.get("FUZZ_SECONDS"))

TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(
    max_examples=1000 if LONG else 40,
    stateful_step_count=60 if LONG else 30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
