"""Bilibili's numbers and signatures against vectors that the real site gave out or accepted."""

from __future__ import annotations

import json
from random import Random

import pytest

from research_scrapers.replica.bilibili import offsets
from research_scrapers.replica.bilibili.numbers import aid_of, bvid_of, mid_hash, scatter
from research_scrapers.replica.bilibili.signing import Keys, mixin_key, signature, ticket_sign

MIXIN = "ea1db124af3c7062474693fa704f4ff8"


@pytest.mark.parametrize(
    ("aid", "bvid"),
    [
        (1, "BV1xx411c7mQ"),
        (2, "BV1xx411c7mD"),
        (170001, "BV17x411w7KC"),
        (80433022, "BV1GJ411x7h7"),
        (795898202, "BV1XC4y1h78J"),
        (111298867365120, "BV1L9Uoa9EUx"),
        (113625742184800, "BV1qMq3YoEZA"),
        (114251901441504, "BV1zKZrYAEi8"),
        (116198679321943, "BV1T6PQzQErF"),
        (2251799813685247, "BV1aPPTfmvQq"),
    ],
)
def test_av_and_bv(aid: int, bvid: str) -> None:
    assert bvid_of(aid) == bvid
    assert aid_of(bvid) == aid


@pytest.mark.parametrize("text", ["", "BV1", "BV1xx411c7m0", "BV1xx411c7mI", "av2", "bv1xx411c7mD", "BV2xx411c7mD"])
def test_what_is_no_bv_id(text: str) -> None:
    assert aid_of(text) is None


@pytest.mark.parametrize(
    ("mid", "crc"), [(1, "83dcefb7"), (2, "1ad5be0d"), (208259, "b615148d"), (928123, "bc076ae"), (62, "12d20a")]
)
def test_sender_hashes_have_no_leading_zeros(mid: int, crc: str) -> None:
    assert mid_hash(mid) == crc


def test_mixin_keys() -> None:
    assert mixin_key("7cd084941338484aae1ad9425b84077c", "4932caff0ff746eab6f01bf08b70ac45") == MIXIN
    other = mixin_key("653657f524a547ac981ded72ea172057", "6e4909c702f846728e64f6007736a338")
    assert other == "72136226c6a73669787ee4fd02a74c27"


FIRST = '{"offset":""}'
CURSOR = r'{"offset":"{\"type\":3,\"direction\":1,\"Data\":{\"cursor\":71859}}"}'


@pytest.mark.parametrize(
    ("params", "wts", "w_rid"),
    [
        ({"foo": 114, "bar": 514, "zab": 1919810}, 1702204169, "8f6f2b5b3d485fe1886cec6a0be8c5d4"),
        ({"foo": "bar", "baz": 1}, 1700000000, "0c5f11a238916d4556aeff87fbbca276"),
        ({"foo": "one one four", "bar": "五一四", "baz": 1919810}, 1702204169, "04e50b58980e3e3cee8cbc0cc4c1c530"),
        ({"a": "x!y'z(1)*2", "b": "~-_."}, 1700000000, "ef980b932bfb654ee751defc97be0f8a"),
        (
            {"avid": 1755630705, "cid": 1574294582, "fnval": 4048, "fnver": 0, "fourk": 1, "qn": 32},
            1717922933,
            "43571b838a1611fa121189083cfc1784",
        ),
        (
            {
                "oid": 831537148, "type": 1, "mode": 3, "pagination_str": FIRST, "plat": 1, "seek_rpid": "",
                "web_location": 1315875,
            },
            1696003891,
            "5698f25996816b7ac350a3998cb2780b",
        ),
        (
            {"mode": 3, "oid": 114251901441504, "pagination_str": FIRST, "plat": 1, "type": 1, "web_location": 1315875},
            1790833013,
            "9b45e527175f687b4a0804a059ca7380",
        ),
        (
            {"aid": 114251901441504, "bvid": "BV1zKZrYAEi8", "cid": 29153362694},
            1790833012,
            "6c0bb80d75e467046bc6c198bbd25bd9",
        ),
        (
            {"oid": 29153362694, "pid": 114251901441504, "segment_index": 1, "type": 1},
            1790833016,
            "2f8bf56217995bf5a2897eaeaed0d358",
        ),
        ({"mid": 28454359}, 1790833014, "7e11d84988916ca0dc2ec738d765701a"),
        ({"oid": 2, "type": 1, "mode": 2, "pagination_str": CURSOR}, 1700000000, "4b52d5a11edcd39410235a7109f8f32e"),
    ],
)  # fmt: skip
def test_signatures(params: dict[str, object], wts: int, w_rid: str) -> None:
    signed = {name: str(value) for name, value in {**params, "wts": wts}.items()}
    assert signature(signed, MIXIN) == w_rid
    assert signature({**signed, "w_rid": "anything"}, MIXIN) == w_rid


def test_tickets() -> None:
    assert ticket_sign("1700000000") == "bb79f0d980ffbb51597aa1a3e8b55603025cc1322ac766f4c1a98852e6182514"


def test_a_signature_ages_and_dies_with_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys(7)
    monkeypatch.setattr("research_scrapers.replica.bilibili.signing.time", lambda: 1_790_000_000.0)
    params = {"oid": "2", "wts": "1790000000"}
    params["w_rid"] = signature(params, mixin_key(*keys.pair()))
    assert keys.accept(params)
    assert not keys.accept({**params, "oid": "3"})
    assert not keys.accept({**params, "extra": ""})
    monkeypatch.setattr("research_scrapers.replica.bilibili.signing.time", lambda: 1_790_000_700.0)
    assert not keys.accept(params)
    monkeypatch.setattr("research_scrapers.replica.bilibili.signing.time", lambda: 1_790_000_000.0)
    keys.rotate()
    assert not keys.accept(params)


def test_scattered_numbers_are_unique_and_in_no_order() -> None:
    made = [scatter("rpid", 7, number, 300_000_000_000, 39) for number in range(5000)]
    assert len({*made}) == 5000
    assert made != sorted(made)
    assert all(len(str(number)) == 12 for number in made)


@pytest.mark.parametrize("form", ["opaque", "json"])
@pytest.mark.parametrize("hot", [True, False])
def test_cursors_are_read_back(form: str, hot: bool) -> None:
    for position in (1, 20, 127, 128, 1038, Random(1).randrange(1 << 20)):
        assert offsets.read(offsets.write(position, "1834034342666752", hot=hot, form=form)) == position
    assert offsets.read(offsets.write(5, "1834034342666752", hot=hot, form=form, keeps_place=True)) is None


def test_the_opaque_cursor_is_written_as_the_real_one() -> None:
    assert offsets.write(1038, "1834034342666752", hot=False, form="opaque") == "CAESEDE4MzQwMzQzNDI2NjY3NTIaADIDCI4I"
    assert offsets.asked(json.dumps({"offset": "x"})) == "x"


@pytest.mark.parametrize("text", ["{", "[]", '{"offset":1}', "5"])
def test_a_broken_pagination_is_refused(text: str) -> None:
    with pytest.raises(offsets.BadOffset):
        offsets.asked(text)


@pytest.mark.parametrize("text", ["AAAA", "not base64!", "{]", '{"type":1,"data":[1]}'])
def test_a_foreign_cursor_is_refused(text: str) -> None:
    with pytest.raises(offsets.BadOffset):
        offsets.read(text)
