"""``python -m fuzzing``: the long form of the fuzz tests, target by target, with a table at the end."""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import re
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from fuzzing.mutate import mutate
from fuzzing.targets import FOUND, ROOT, TARGETS, Target, keep

_EXECUTIONS = re.compile(r"^#(\d+)\s", re.M)
_COVERED = re.compile(r"cov: (\d+) ft: (\d+)")


@dataclass
class Row:
    """What came of one target."""

    name: str
    way: str
    executions: int
    seconds: float
    edges: int | None = None
    broken: str = ""


def by_chance(target: Target, seconds: float, seed: int) -> Row:
    """Mutations of the seeds without any knowledge of what they reach."""
    rng, seeds = random.Random(seed), list(target.seeds())
    began, executions = time.monotonic(), 0
    waiting = list(seeds)
    while waiting or time.monotonic() - began < seconds:
        data = waiting.pop() if waiting else mutate(rng, rng.choice(seeds))
        executions += 1
        try:
            target.run(data)
        except Exception as error:
            path = keep(target.name, data)
            traceback.print_exc()
            told = f"{type(error).__name__}: {error}"[:120]
            return Row(target.name, "chance", executions, time.monotonic() - began, None, f"{told} → {path}")
    return Row(target.name, "chance", executions, time.monotonic() - began)


def guided(target: Target, seconds: float, seed: int, corpus: Path) -> Row:
    """The same under atheris, in a process of its own, for it ends with the first failure."""
    FOUND.mkdir(exist_ok=True)  # where libFuzzer leaves what hung or grew
    command = [sys.executable, "-m", "fuzzing.coverage_guided", target.name, str(corpus / target.name),
               f"-max_total_time={seconds:.0f}", f"-seed={seed}", "-timeout=10", "-rss_limit_mb=2048",
               "-max_len=500000", f"-artifact_prefix={FOUND / target.name}-", "-print_final_stats=1"]  # fmt: skip
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        errors="replace", timeout=seconds + 300, check=False,
    )  # fmt: skip
    told = done.stderr + done.stdout
    counts, covered = _EXECUTIONS.findall(told), _COVERED.findall(told)
    broken = ""
    if done.returncode:
        print(told[-4000:], file=sys.stderr)
        broken = next((line for line in told.splitlines() if "Error" in line or "ERROR" in line), "failed")[:160]
    return Row(
        target.name, "atheris", int(counts[-1]) if counts else 0, time.monotonic() - began,
        int(covered[-1][0]) if covered else None, broken,
    )  # fmt: skip


def replay() -> int:
    """Run every kept input again."""
    failed = 0
    for path in sorted(FOUND.glob("*-*")):
        name = path.name.rpartition("-")[0].removesuffix("-crash").removesuffix("-timeout").removesuffix("-oom")
        try:
            TARGETS[name].run(path.read_bytes())
            print(f"{path.name}: mended")
        except Exception:
            failed += 1
            print(f"{path.name}:")
            traceback.print_exc()
    return failed


def main() -> int:
    """Returns how many targets broke."""
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"of: {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("FUZZ_SECONDS", "30")))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 2**31))
    parser.add_argument("--corpus", type=Path, default=ROOT / "fuzzing" / "corpus")
    parser.add_argument("--by-chance", action="store_true", help="without atheris, even if it is here")
    parser.add_argument("--replay", action="store_true", help="run what was found before again, and nothing else")
    given = parser.parse_args()
    if given.replay:
        return replay()
    unknown = [name for name in given.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no such target: {', '.join(unknown)}")
    with_atheris = not given.by_chance and importlib.util.find_spec("atheris") is not None
    if not with_atheris:
        print("atheris is not installed (pip install atheris, on Linux or macOS): mutating by chance instead")
    print(f"{given.seconds:.0f} s for each target, seed {given.seed}")
    rows = []
    for name in given.targets or TARGETS:
        target = TARGETS[name]
        row = guided(target, given.seconds, given.seed, given.corpus) if with_atheris else None
        rows.append(row or by_chance(target, given.seconds, given.seed))
        edges = "" if rows[-1].edges is None else f"{rows[-1].edges:>7} edges"
        print(f"{name:<22}{rows[-1].way:<9}{rows[-1].executions:>10} inputs{rows[-1].seconds:>7.0f} s{edges}  "
              f"{rows[-1].broken}", flush=True)  # fmt: skip
    broken = [row for row in rows if row.broken]
    total = sum(row.executions for row in rows)
    print(f"{len(rows)} targets, {total:,} inputs, {len(broken)} broken")
    return len(broken)


if __name__ == "__main__":
    sys.exit(main())
