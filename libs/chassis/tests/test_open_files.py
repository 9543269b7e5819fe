"""A process may have as many sockets as the system allows, whatever shell it was started from."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit on Windows")

ASK = """
import resource
from chassis.open_files import allow_many
resource.setrlimit(resource.RLIMIT_NOFILE, (%d, %d))
print(allow_many(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def limits_after(soft: int, hard: int) -> list[int]:
    ran = subprocess.run([sys.executable, "-c", ASK % (soft, hard)], capture_output=True, text=True, check=True)
    return [int(word) for word in ran.stdout.split()]


@pytest.mark.parametrize("soft", [64, 512])
def test_the_soft_limit_becomes_the_hard_one(soft: int) -> None:
    assert limits_after(soft, 512) == [512, 512, 512]
