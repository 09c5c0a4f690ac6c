"""The same tests over a folder and over a real S3 server."""

from __future__ import annotations

import gzip

import boto3
import pytest
from moto.server import ThreadedMotoServer

from research_scrapers.errors import ExtraMissing, SettingInvalid, StoreUnwritable
from research_scrapers.store.artifacts import keep_body
from research_scrapers.store.blobs import find, item_name, open_blobs
from tests.corpus import Corpus
from tests.factories import Bench


@pytest.fixture(scope="module")
def server():
    one = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    one.start()
    host, port = one.get_host_and_port()
    yield f"http://{host}:{port}"
    one.stop()


@pytest.fixture(params=["folder", "file", "s3", "s3 with a prefix"])
def url(request, tmp_path, monkeypatch):
    if request.param == "folder":
        return str(tmp_path / "blobs")
    if request.param == "file":
        return (tmp_path / "with blank" / "blobs").as_uri()
    origin = request.getfixturevalue("server")
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "x"), ("AWS_DEFAULT_REGION", "us-east-1"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{abs(hash(str(tmp_path)))}"
    boto3.client("s3", endpoint_url=origin).create_bucket(Bucket=bucket)
    return f"s3://{bucket}{'/some/prefix' if 'prefix' in request.param else ''}?endpoint={origin}"


def test_what_is_put_is_got(url):
    blobs = open_blobs(url)
    name = item_name("run_1", 7, "raw 中文.gz")
    assert name == "run_1/items/7/raw 中文.gz"
    assert blobs.get(name) is None
    where = blobs.put(name, b"one")
    assert blobs.get(name) == b"one"
    blobs.put(name, b"two")
    assert open_blobs(url).get(name) == b"two"
    found, inner = find(where)
    assert found.get(inner) == b"two"
    found.delete(inner)
    assert blobs.get(name) is None
    blobs.delete(name)


def test_names_come_in_order(url):
    blobs = open_blobs(url)
    assert list(blobs.names()) == []
    for job in (2, 1, 3):
        blobs.put(item_name("run_1", job, "a"), b"")
    blobs.put(item_name("run_2", 1, "a"), b"")
    assert list(blobs.names("run_1/")) == [item_name("run_1", job, "a") for job in (1, 2, 3)]
    assert len(list(blobs.names())) == 4


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../up", "a/../../b", "a//b", "nul\0"])
def test_names_that_lead_elsewhere(url, name):
    with pytest.raises(SettingInvalid):
        open_blobs(url).put(name, b"")


def test_a_raw_body_goes_where_the_store_says_and_is_forgotten_there(url, tmp_path):
    bench = Bench(tmp_path)
    bench.store.blobs = url
    lease = bench.claim()
    where = keep_body(bench.store, lease, b'{"author": "UCpersonpersonpersonpers"}')
    blobs, name = find(str(where))
    assert gzip.decompress(blobs.get(name)) == b'{"author": "UCpersonpersonpersonpers"}'
    job = bench.rows("SELECT job_id FROM sub_jobs")[0][0]
    assert f"{lease.run_id}/items/{job}/" in str(where)
    bench.store.close()
    corpus = Corpus(tmp_path)
    corpus.invoke("forget", "--author", "UCpersonpersonpersonpers", "--yes")
    assert blobs.get(name) is None


def test_a_bucket_that_is_not_there(url):
    if url.startswith("s3"):
        with pytest.raises(StoreUnwritable):
            open_blobs(url.replace("s3://", "s3://no-")).put("a", b"")


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnwritable):
        open_blobs(str(tmp_path / "file")).put("a/b", b"")


@pytest.mark.parametrize("url", ["http://example.org/x", "s3://", "gs://bucket"])
def test_urls_that_name_no_back_end(url):
    with pytest.raises(SettingInvalid):
        open_blobs(url)


def test_a_missing_library_is_told(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ExtraMissing, match=r"research-scrapers\[s3\]"):
        open_blobs("s3://bucket")
