"""The table of what the seeds ask for names files and names that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
ROWS = re.findall(r"(?m)^\| (00\d\.\d+) \| (.*?) \| ?(.*?) ?\| ?(.*?) ?\|$", TABLE)


def test_every_file_and_name_that_the_table_cites_exists() -> None:
    missing = []
    for number, *cells in ROWS:
        for cited in re.findall(r"`([\w./-]+\.(?:py|sql|md)(?::\w+)?)`", " ".join(cells)):
            file, _, name = cited.partition(":")
            path = ROOT / file
            if not path.is_file() or not re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")):
                missing.append(f"{number}: {cited}")
    assert missing == []


def test_every_rule_of_the_five_seeds_has_its_row_in_order_with_a_place_or_a_reason() -> None:
    numbers = [number for number, *_ in ROWS]
    assert len(numbers) == len(re.findall(r"(?m)^\| 00", TABLE)), "a row that cannot be read"
    by_seed = {seed: [int(number[4:]) for number in numbers if number.startswith(seed)] for seed in
               ("000", "001", "002", "003", "004")}  # fmt: skip
    for seed, found in by_seed.items():
        assert found == list(range(1, len(found) + 1)), seed
    assert len(numbers) >= 231
    assert [number for number, _, where, why in ROWS if not where.strip() and not why.strip()] == []
