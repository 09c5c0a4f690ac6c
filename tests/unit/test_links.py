import codecs
import io

import pytest

from research_scrapers.errors import LinksEmpty, LinksMissing
from research_scrapers.links import open_links, read_line, read_lines
from research_scrapers.models import BadLine, Link
from research_scrapers.providers import providers

ID = "dQw4w9WgXcQ"
LINK = f"https://www.youtube.com/watch?v={ID}"


def test_every_provider_takes_its_own_examples():
    for name, provider in providers().items():
        assert provider.examples
        for example in provider.examples:
            line = read_line(1, example)
            assert isinstance(line, Link), example
            assert line.provider == name


@pytest.mark.parametrize(
    ("text", "priority"),
    [
        (LINK, 0),
        (f"  {LINK}\t", 0),
        (f"{LINK} 5", 5),
        (f"{LINK} priority=-3", -3),
        (f"{LINK} # why", 0),
        (f"{LINK} 7 # why", 7),
        (ID, 0),
        (f"https://www.youtube.com/#!v={ID}", 0),
        (f"\ufeff{LINK}\r\n", 0),
    ],
)
def test_a_line_with_a_link(text, priority):
    line = read_line(3, text)
    assert isinstance(line, Link)
    assert (line.provider, line.video_id, line.priority, line.line) == ("youtube", ID, priority, 3)


@pytest.mark.parametrize("text", ["", "   ", "# comment", "\t# comment", "\n", "\ufeff"])
def test_a_line_that_says_nothing(text):
    assert read_line(1, text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello", "not a Bilibili or Youtube link"),
        ("https://example.org/watch?v=" + ID, "not a Bilibili or Youtube link"),
        ("https://www.youtube.com/@somebody", "channel"),
        (f"{LINK} {LINK}", "more than one thing"),
        (f"{LINK} high", "more than one thing"),
        ("abc\ufffddef", "UTF-8"),
        ("abc\x00def", "UTF-8"),
    ],
)
def test_a_line_that_is_not_a_video_says_why(text, reason):
    line = read_line(7, text)
    assert isinstance(line, BadLine)
    assert line.line == 7
    assert reason.lower() in line.reason.lower()


def test_an_absurdly_long_line_is_told_in_short():
    assert len(read_line(1, "x" * 100_000).text) <= 200


@pytest.mark.parametrize(
    "body",
    [
        f"{LINK}\r\n\r\n# x\r\n{ID}\r\n".encode(),
        codecs.BOM_UTF8 + f"{LINK}\n{ID}".encode(),
        f"{LINK}\n{ID}\n".encode("utf-16"),
    ],
)
def test_files_as_editors_write_them(tmp_path, body):
    path = tmp_path / "links.txt"
    path.write_bytes(body)
    assert [line.video_id for line in open_links(str(path))] == [ID, ID]


def test_broken_bytes_cost_their_line_only(tmp_path):
    path = tmp_path / "links.txt"
    path.write_bytes(b"\xff\xfe\xfa".replace(b"\xff\xfe", b"\xc3\x28") + b"\n" + LINK.encode())
    kinds = [type(line) for line in open_links(str(path))]
    assert kinds == [BadLine, Link]


def test_links_on_the_command_line():
    links = open_links(f"{LINK},{ID}, nonsense")
    assert [type(line) for line in links] == [Link, Link, BadLine]
    assert links.label == "the command line"


def test_links_from_standard_input():
    links = open_links("-", stdin=io.BytesIO(f"{LINK}\n".encode()))
    assert links.digest() is None
    assert [line.video_id for line in links] == [ID]


@pytest.mark.parametrize("value", [None, "", "  ", "missing.txt", "/no/such/file"])
def test_no_links_at_all(value):
    with pytest.raises(LinksMissing):
        open_links(value)


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(LinksMissing, match="not a file"):
        open_links(str(tmp_path))


def test_an_empty_file(tmp_path):
    path = tmp_path / "links.txt"
    path.write_text("\n# nothing yet\n")
    with pytest.raises(LinksEmpty, match="blank or a comment"):
        open_links(str(path))


def test_the_digest_follows_the_content(tmp_path):
    path = tmp_path / "links.txt"
    path.write_text(LINK)
    first = open_links(str(path)).digest()
    assert open_links(str(path)).digest() == first
    path.write_text(LINK + "\n" + ID)
    assert open_links(str(path)).digest() != first
    assert open_links(LINK).digest() != open_links(f"{LINK},{ID}").digest()


def test_a_million_lines_are_a_stream():
    lines = read_lines(f"{LINK}\n" for _ in range(10**12))
    assert isinstance(next(lines), Link)


def test_a_long_list_of_links_is_not_taken_for_a_file():
    ids = [f"{number:011}" for number in range(500)]
    for form in ("{}", "https://www.youtube.com/watch?v={}"):
        links = open_links(",".join(form.format(one) for one in ids))
        assert [link.video_id for link in links] == ids
        assert links.digest()


def test_the_home_of_nobody_and_bytes_that_are_no_text():
    for name in ("~nobody-at-all/links.txt", "x\0y", "\udcff.txt", "x" * 300):
        with pytest.raises(LinksMissing):
            open_links(name)
