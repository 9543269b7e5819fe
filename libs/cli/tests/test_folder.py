import os
import stat
from pathlib import Path

import pytest

from cli.up.account import Account, postgres_account
from cli.up.folder import LAYOUT, named_root, open_folder, stamp_layout
from cli.up.private_files import write_private_json
from cli.up.refusal import Refused

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts Postgres as another user")


def test_the_folder_is_closed_to_others_and_stamped(tmp_path: Path) -> None:
    folder = open_folder(tmp_path / "deep" / "data", None, 0)
    stamp_layout(folder)
    assert stat.S_IMODE(folder.root.stat().st_mode) == 0o700
    assert folder.layout_version() == LAYOUT


def test_a_folder_that_others_could_read_is_closed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    folder = open_folder(tmp_path / "data", None, 0)
    assert stat.S_IMODE(folder.root.stat().st_mode) == 0o700


def test_a_newer_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    write_private_json(tmp_path / "layout.json", {"version": LAYOUT + 1})
    with pytest.raises(Refused, match=f"newer Retinue \\(layout {LAYOUT + 1}"):
        open_folder(tmp_path, None, 0)


def test_a_full_disk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"MiB are free .* RETINUE_MIN_FREE_MB"):
        open_folder(tmp_path / "data", None, 1 << 60)


def test_a_shared_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    with pytest.raises(Refused, match="belongs to others too"):
        open_folder(tmp_path / "shared", None, 0)


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="cannot be used"):
        open_folder(tmp_path / "file" / "data", None, 0)


def test_the_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RETINUE_DATA_DIR", str(tmp_path))
    assert named_root() == tmp_path
    assert named_root("/elsewhere") == Path("/elsewhere")


@AS_ROOT
def test_a_folder_that_postgres_cannot_reach_is_refused_by_name(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(Refused, match=f"cannot reach the data folder {closed}/data"):
        open_folder(closed / "data", postgres_account(), 0)


@AS_ROOT
def test_the_first_closed_folder_on_the_way_is_named() -> None:
    nobody = Account("nobody", 65534, 65534)
    assert nobody.first_closed(Path("/root/a/b")) == Path("/root")


def test_a_folder_with_other_people_s_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    before = tmp_path.stat().st_mode
    with pytest.raises(Refused, match=r"holds other files \(thesis.txt\)"):
        open_folder(tmp_path, None, 0)
    assert tmp_path.stat().st_mode == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_that_postgres_cannot_reach_is_refused_before_it_is_made(tmp_path: Path) -> None:
    class Nobody(Account):
        def can_enter(self, folder: Path) -> bool:
            return folder == Path("/")

    wanted = tmp_path / "closed" / "data"
    with pytest.raises(Refused, match="cannot reach the data folder"):
        open_folder(wanted, Nobody("nobody", 65534, 65534), 0)
    assert not wanted.parent.exists()


@pytest.mark.parametrize("content", ["{bad", "[]", '{"version": null}', "{}"])
def test_a_damaged_layout_is_said_in_one_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / "layout.json").write_text(content)
    with pytest.raises(Refused, match=r"layout\.json"):
        open_folder(tmp_path, None, 0)
