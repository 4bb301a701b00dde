"""A card's rules: ``ethtool`` is a script here, which stores them in a file."""

from pathlib import Path

import pytest

from olafctl.network.flow_rules import FlowRules

_ETHTOOL = """#!/bin/sh
# As `ethtool -n CARD` shows rules, and `-N CARD` adds and deletes them; two fit.
cd "$(dirname "$0")"; touch rules
case "$1 $3" in
"-n "*) echo "2 RX rings available"; while read -r place address queue; do
    printf 'Filter: %s\\n\\tRule Type: UDP over IPv4\\n' "$place"
    printf '\\tSrc IP addr: %s mask: 0.0.0.0\\n' "$address"
    printf '\\tDest IP addr: 0.0.0.0 mask: 255.255.255.255\\n\\tTOS: 0x0 mask: 0xff\\n'
    printf '\\tSrc port: 0 mask: 0xffff\\n\\tDest port: 0 mask: 0xffff\\n'
    printf '\\tAction: Direct to queue %s\\n\\n' "$queue"
    done <rules ;;
"-N delete") grep -v "^$4 " rules >left; mv left rules ;;
*) [ "$(wc -l <rules)" -lt 2 ] || { echo "rmgr: no room" >&2; exit 1; }
   echo "$((1000 + $8 + $(wc -l <rules) * 2)) $6 $8" >>rules ;;
esac
"""


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide the file of the card's rules: place, address, queue."""
    (tmp_path / "ethtool").write_text(_ETHTOOL)
    (tmp_path / "ethtool").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path / "rules"


def there(rules: Path) -> list[str]:
    """Return the addresses and queues of the rules."""
    return sorted(line.split(maxsplit=1)[1] for line in rules.read_text().splitlines())


def test_a_card_follows_the_shards_of_workers_and_keeps_rules_of_others(rules: Path) -> None:
    rules.write_text("7 10.9.9.9 1\n")
    card = FlowRules("card")
    card.give({"10.0.1.1": 0})
    assert there(rules) == ["10.0.1.1 0", "10.9.9.9 1"]
    assert card.state == "by rules for 1 of 1 workers"
    card.give({"10.0.1.1": 1})
    assert there(rules) == ["10.0.1.1 1", "10.9.9.9 1"]
    card.give({"10.0.1.2": 0})
    assert there(rules) == ["10.0.1.2 0", "10.9.9.9 1"]
    card.give({})
    assert there(rules) == ["10.9.9.9 1"]


def test_what_finds_no_room_comes_by_the_hash(rules: Path) -> None:
    card = FlowRules("card")
    card.give({f"10.0.1.{host}": 0 for host in (1, 2, 3)})
    assert there(rules) == ["10.0.1.1 0", "10.0.1.2 0"]
    assert card.state == "by rules for 2 of 3 workers, else by its hash: rmgr: no room"


def test_rules_that_an_engine_left_behind_are_taken_over(rules: Path) -> None:
    rules.write_text("7 10.0.1.1 0\n8 10.0.1.2 0\n")
    FlowRules("card").give({"10.0.1.1": 0, "10.0.1.2": 1})
    assert there(rules) == ["10.0.1.1 0", "10.0.1.2 1"]
