"""make install, completions, the manual and the systemd unit."""

import re
import shutil
import subprocess

import pytest
from conftest import aplomb
from harness import broker as brokers
from harness import places

COMMANDS = ("serve", "bench", "log", "log-dump", "log-verify", "completions", "man", "version")


def test_every_shell_has_completions():
    for shell in ("bash", "zsh", "fish", "elvish", "powershell"):
        ran = aplomb("completions", shell)
        assert ran.exit == 0
        assert "bench" in ran.stdout
    script = aplomb("completions", "bash").stdout
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_every_command_has_a_page(tmp_path):
    assert aplomb("man", tmp_path / "man").exit == 0
    pages = {page.name for page in (tmp_path / "man").iterdir()}
    assert {"aplomb.1", *(f"aplomb-{command}.1" for command in COMMANDS)} <= pages
    assert "fetch\\-rate" in (tmp_path / "man" / "aplomb-bench.1").read_text()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What `make install` puts into an empty directory."""
    if brokers.binary() != str(places.CHECKOUT / "target" / "release" / "aplomb"):
        pytest.skip("make install takes target/release/aplomb, and another binary is being tested")
    root = tmp_path_factory.mktemp("root")
    done = subprocess.run(["make", "install", f"DESTDIR={root}", "PREFIX=/usr"], cwd=places.CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return root


def test_make_install_puts_everything_in_its_place(installed):
    program = installed / "usr/bin/aplomb"
    said = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"aplomb \d+\.\d+\.\d+\n", said)
    for path in ("share/man/man1/aplomb-serve.1", "share/bash-completion/completions/aplomb", "share/zsh/site-functions/_aplomb", "share/fish/vendor_completions.d/aplomb.fish"):
        assert (installed / "usr" / path).stat().st_size > 0


def test_symbols_lie_beside_the_program_and_not_in_it(installed):
    if not shutil.which("objcopy"):
        pytest.skip("binutils are not on this machine")
    program, symbols = installed / "usr/bin/aplomb", installed / "usr/bin/.debug/aplomb.debug"
    sections = lambda path: subprocess.run(["objdump", "-h", path], capture_output=True, text=True, check=True).stdout
    assert ".debug_info" not in sections(program) and ".gnu_debuglink" in sections(program)
    assert ".debug_info" in sections(symbols)
    # Function names stay, for backtraces of panics and for profiles.
    assert ".symtab" in subprocess.run(["readelf", "-S", program], capture_output=True, text=True, check=True).stdout
    assert program.stat().st_size < symbols.stat().st_size / 2


def test_the_unit_names_the_program_that_was_installed(installed):
    unit = (installed / "usr/lib/systemd/system/aplomb.service").read_text()
    assert "ExecStart=/usr/bin/aplomb serve" in unit
    assert "@PREFIX@" not in unit


def test_systemd_understands_the_unit(installed):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not on this machine")
    unit = installed / "usr/lib/systemd/system/aplomb.service"
    done = subprocess.run(["systemd-analyze", "verify", "--root", installed, unit], capture_output=True, text=True, check=False)
    # It asks man for the page too, which is not where it looks; and under that root there are no units of a system.
    not_ours = re.compile(r"Command 'man |Unit \S+ not found\.$")
    about_us = [line for line in done.stderr.splitlines() if "aplomb.service" in line and not not_ours.search(line)]
    assert about_us == []
