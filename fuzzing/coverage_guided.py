"""One target under atheris: inputs that reach new code are kept and changed further. Run by ``python -m fuzzing``."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["research_scrapers.providers", "research_scrapers.links",
                                         "research_scrapers.config", "research_scrapers.formats"]):  # fmt: skip
    from fuzzing.mutate import mutate
    from fuzzing.targets import TARGETS, keep


def _changed(data: bytes, largest: int, seed: int) -> bytes:
    """Half of the changes are ours, which know JSON; the other half is the fuzzer's, which knows what is new."""
    rng = random.Random(seed)
    made = mutate(rng, data) if rng.random() < 0.5 else atheris.Mutate(data, largest)
    return bytes(made[:largest])


def main() -> None:
    """Arguments: the target, a folder for its corpus, then libFuzzer's own."""
    target, corpus = TARGETS[sys.argv[1]], Path(sys.argv[2])
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number:03}").write_bytes(seed)

    def run(data: bytes) -> None:
        try:
            target.run(data)
        except Exception:
            keep(target.name, data)  # libFuzzer does not, where the failure is an exception
            raise

    atheris.Setup([sys.argv[0], str(corpus), *sys.argv[3:]], run, custom_mutator=_changed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
