from pathlib import Path

from cli.up.logs import follow, rotate, rotate_long, tail


def test_a_rotated_log_keeps_its_open_writer_and_its_past(tmp_path: Path) -> None:
    path = tmp_path / "nats.log"
    with path.open("ab", buffering=0) as writer:
        for number in range(1, 5):
            writer.write(f"age {number}\n".encode())
            rotate(path, keep=2)
        writer.write(b"now\n")
    assert path.read_text() == "now\n"
    assert (tmp_path / "nats.log.1").read_text() == "age 4\n"
    assert (tmp_path / "nats.log.2").read_text() == "age 3\n"
    assert not (tmp_path / "nats.log.3").exists()


def test_only_long_logs_are_rotated(tmp_path: Path) -> None:
    (tmp_path / "short.log").write_text("x")
    (tmp_path / "long.log").write_text("x" * 100)
    rotate_long(tmp_path, max_bytes=10, keep=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.log", "long.log.1", "short.log"]


def test_tail_is_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("".join(f"{number}\n" for number in range(10)))
    assert tail(path, 2) == ["8", "9"]


def test_follow_gives_whole_new_lines_also_after_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("old\n")
    news = follow([path])
    with path.open("ab", buffering=0) as writer:
        # The generator notes the size at its first step, so something must be new by then.
        first = iter(news)
        writer.write(b"")
        assert _after(first, lambda: writer.write(b"one\nhal")) == ("a", "one")
        writer.write(b"f\n")
        assert next(first) == ("a", "half")
        rotate(path, keep=0)
        writer.write(b"new\n")
        assert next(first) == ("a", "new")


def _after(lines, act) -> tuple[str, str]:
    from threading import Timer

    timer = Timer(0.1, act)
    timer.start()
    try:
        return next(lines)
    finally:
        timer.join()
