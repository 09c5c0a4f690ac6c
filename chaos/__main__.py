"""``python -m chaos``: round after round, a line each, and a table at the end."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from chaos.forks import Forks
from chaos.rounds import Round, Skipped, playground, repeat_command
from chaos.scenarios import EXPORT, SCENARIOS, Scenario
from chaos.world import TARGETS, Target, World, start


@dataclass
class Row:
    """What came of one scenario."""

    rounds: int = 0
    kills: int = 0
    again: int = 0
    missed: int = 0
    broken: int = 0
    skipped: str = ""

    def add(self, played: Round) -> None:
        self.rounds += 1
        self.kills += played.kills
        self.missed += played.missed
        self.again += played.again
        self.broken += bool(played.broken)


class Series:
    """Rounds against one replica; ends everything that it started."""

    def __init__(self) -> None:
        self.folder = playground()
        self.rows: dict[str, Row] = {}
        self._durations: dict[str, float] = {}

    def __enter__(self) -> Series:
        self._forks = Forks()
        self._replica = start().__enter__()
        self._world = World(self._replica)
        return self

    def __exit__(self, *_: object) -> None:
        self._replica.__exit__(None, None, None)
        self._forks.close()
        if not any(row.broken for row in self.rows.values()):
            shutil.rmtree(self.folder)

    def play(self, scenario: Scenario, target: str, seed: int) -> Round:
        """One round. A broken one keeps its folder."""
        folder = self.folder / f"{scenario.name}@{target}-{seed}"
        aim = TARGETS.get(target, Target(EXPORT))
        played = Round(scenario.name, aim, seed, folder, self._world, self._forks, self._durations)
        row = self.rows.setdefault(scenario.name, Row())
        self._replica.reset()
        played.lay_out()
        try:
            scenario.play(played)
        except Skipped as reason:
            row.skipped = str(reason)
            played.deeds.append(f"skipped: {reason}")
            return played
        except Exception as error:
            played.broken.append(f"{type(error).__name__}: {error}")
        played.again = played.fetched_again()
        row.add(played)
        if not played.broken:
            shutil.rmtree(folder)
        return played


def plan(names: Sequence[str], rounds: int) -> list[tuple[Scenario, str]]:
    """Scenario after scenario; each time that one comes again, its next command."""
    wanted = [(SCENARIOS[name.partition("@")[0]], name.partition("@")[2]) for name in names or SCENARIOS]
    planned = []
    for number in range(rounds):
        scenario, target = wanted[number % len(wanted)]
        turn = number // len(wanted) + number % len(wanted)
        planned.append((scenario, target or scenario.targets[turn % len(scenario.targets)]))
    return planned


def table(rows: dict[str, Row], seconds: float) -> str:
    """The rows, with what may not be passed over in silence."""
    head = f"{'scenario':<24}{'rounds':>7}{'kills':>7}{'missed':>8}{'fetched again':>15}{'broken':>8}"
    lines = [head, "-" * len(head)]
    for name, row in rows.items():
        note = f"  skipped: {row.skipped}" if row.skipped else ""
        if unreached(name, row):
            note += "  NEVER REACHED"
        lines.append(
            f"{name:<24}{row.rounds:>7}{row.kills:>7}{row.missed:>8}{row.again:>15}{row.broken:>8}{note}"
        )  # fmt: skip
    total = [
        sum(getattr(row, name) for row in rows.values()) for name in ("rounds", "kills", "missed", "again", "broken")
    ]
    lines += ["-" * len(head), f"{'all':<24}{total[0]:>7}{total[1]:>7}{total[2]:>8}{total[3]:>15}{total[4]:>8}"]
    return "\n".join(lines) + f"\n{seconds:.0f} s"


def unreached(name: str, row: Row) -> bool:
    """Whether a kill point was never come to in all rounds."""
    return bool(SCENARIOS[name].point and row.rounds and not row.kills)


def tell(played: Round, seconds: float) -> str:
    verdict = "BROKEN" if played.broken else "whole"
    done = ", ".join(played.deeds) or "nothing was done to it"
    return (f"{played.scenario}@{played.target.name}: {done}; {played.held} stored, {played.again} fetched again, "
            f"{seconds:.1f} s: {verdict}")  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 if something that must hold does not."""
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 10**6))
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="scenarios, or scenario@command")
    parser.add_argument("--list", action="store_true", help="the scenarios, and which commands they are played with")
    given = parser.parse_args(arguments)
    if given.list:
        for scenario in SCENARIOS.values():
            print(f"{scenario.name:<24}{' '.join(scenario.targets)}")
        return 0
    for name in given.only:
        scenario, _, target = name.partition("@")
        if scenario not in SCENARIOS or target not in ("", *SCENARIOS[scenario].targets):
            parser.error(f"no such scenario: {name}; --list shows them")
    print(f"{given.rounds} rounds, seed {given.seed}", flush=True)
    began = time.monotonic()
    with Series() as series:
        for number, (scenario, target) in enumerate(plan(given.only, given.rounds)):
            start_of_round = time.monotonic()
            played = series.play(scenario, target, given.seed + number)
            print(f"{number + 1:>4} {tell(played, time.monotonic() - start_of_round)}", flush=True)
            if played.broken:
                for one in played.broken:
                    print(f"     {one}")
                print(f"     kept in {played.folder}; again: {repeat_command(scenario.name, target, played.seed)}",
                      flush=True)  # fmt: skip
        rows = series.rows
    print(table(rows, time.monotonic() - began))
    return int(any(row.broken or unreached(name, row) for name, row in rows.items()))


if __name__ == "__main__":
    sys.exit(main())
