"""Help, man page, completions and schemas tell of the same options."""

import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import COMMAND, ROOT

COMMANDS = ["cpd", "rank", "tucker", "info", "convert", "generate", "bench", "report", "score",
            "core-consistency", "project", "update", "anomalies", "split", "predict",
            "plan", "replay", "formats", "devices"]


def options_of(polyad, command):
    text = polyad.ok(command, "--help").out.decode()
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)", text, re.M))


@pytest.mark.parametrize("command", COMMANDS)
def test_help(polyad, command):
    result = polyad.ok(command, "--help")
    lines = result.out.decode().splitlines()
    assert lines[0].startswith(f"usage: polyad {command}") and result.err == ""
    assert polyad.ok(command, "-h").out == result.out
    assert {"--json", "--quiet", "--verbose"} <= options_of(polyad, command)


def test_help_of_all_names_each(polyad):
    text = polyad.ok("--help").out.decode()
    assert all(re.search(rf"^  {command} ", text, re.M) for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_man_page_names_every_option(polyad, command):
    page = (ROOT / "docs/man/polyad.1").read_text()
    written = {"-" + name for name in re.findall(r"Fl (-[a-z0-9-]+)", page)}
    assert options_of(polyad, command) <= written
    assert re.search(rf"Cm .*\b{command}\b", page)


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is missing")
def test_man_page_is_clean():
    """But for its matters of style, such as lines of more than 80 bytes."""
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", ROOT / "docs/man/polyad.1"],
                          capture_output=True)
    assert done.stdout == b"" and done.returncode == 0


def test_man_page_describes_every_parameter(polyad):
    page = " ".join((ROOT / "docs/man/polyad.1").read_text().split())
    described = re.findall(r"\.It Cm (\S+)= Ns Ar N", page)
    expected = []
    for one in sorted(polyad.json("formats")["formats"], key=lambda one: one["name"]):
        for key in one["parameters"]:
            usual = f", usually {key['usual']}" if key["usual"] else ""
            expected.append(f"{one['name']}:{key['name']}")
            assert (f".It Cm {expected[-1]}= Ns Ar N From {key['least']} to {key['most']}{usual}: "
                    f"{key['help']}.") in page
    assert described == expected and len(expected) >= 5


def test_file_formats_are_documented(polyad):
    """Each row of the library's table is a row of the page."""
    text = polyad.ok("help", "files").out.decode()
    page = (ROOT / "docs/file-formats.md").read_text()
    rows = re.findall(r"^([a-z]+)  +", text, re.M)
    extensions = set(re.findall(r" (\.[a-z]+)", text)) - {".gz", ".zst"}
    assert {"tns", "toolbox", "ptn", "delimited", "ptm"} <= set(rows)
    assert {".tns", ".ktensor", ".ptm", ".csv"} <= extensions
    assert all(re.search(rf"^\| {row} \|", page, re.M) for row in rows)
    assert all(f"`{extension}`" in page for extension in extensions)


def complete_bash(line):
    """What bash offers for the last word of a command line, cut at colons and equals signs as bash
    does."""
    words = [word for part in line.split(" ") for word in re.split(r"([:=])", part) if word != ""]
    words += [""] if line.endswith(" ") else []
    script = (f"source '{ROOT}/completions/polyad.bash'\n"
              f"COMP_WORDS=({' '.join(repr(w) for w in words)})\nCOMP_CWORD={len(words) - 1}\n"
              f"COMP_LINE={line!r} COMP_POINT={len(line)}\n"
              "_polyad\nprintf '%s\\n' \"${COMPREPLY[@]}\"")
    path = os.path.dirname(COMMAND) + ":" + os.environ["PATH"]
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True,
                          env={**os.environ, "PATH": path})
    return set(done.stdout.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_completes_every_option(polyad, command):
    assert complete_bash(f"polyad {command} --") == options_of(polyad, command) | {"--help"}


def test_bash_completes_words(polyad):
    assert complete_bash("polyad ") == {*COMMANDS, "help", "--help", "--version"}
    assert complete_bash("polyad cpd --precision ") == {"f32", "f64"}
    assert complete_bash("polyad cpd --precision=") == {"f32", "f64"}
    assert complete_bash("polyad cpd --precision=f3") == {"f32"}
    assert complete_bash("polyad cpd -a apr-m") == {"apr-mu"}
    assert complete_bash("polyad bench m") == {"mttkrp"}
    names = {row["name"] for row in polyad.json("formats")["formats"]}
    assert complete_bash("polyad cpd --format ") == names | {"auto", "all"}


def test_bash_completes_formats(polyad):
    """Variants and keys come from the formats themselves."""
    for one in polyad.json("formats")["formats"]:
        keys = {key["name"] + "=" for key in one["parameters"]}
        variants = set(one["variants"].split()) - {"auto"}
        assert complete_bash(f"polyad cpd --format {one['name']}:") == keys | variants
        assert complete_bash(f"polyad info x.tns --format {one['name']}:none:") == keys
    assert complete_bash("polyad bench mttkrp --format flycoo:kappa=3:b") == {"block-columns="}
    assert complete_bash("polyad cpd x --format flycoo:paper-c") == {"paper-cyclic"}


@pytest.mark.parametrize("command", COMMANDS)
def test_zsh_knows_every_option(polyad, command):
    text = (ROOT / "completions/_polyad").read_text()
    known = set(re.findall(r"--[a-z0-9-]+", text))
    assert options_of(polyad, command) <= known


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is missing")
def test_zsh_syntax():
    subprocess.run(["zsh", "-n", ROOT / "completions/_polyad"], check=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_schema_is_strict(command):
    schema = json.loads((ROOT / f"docs/json/{command}.json").read_text())
    assert schema["additionalProperties"] is False and schema["required"]


# ---- zsh and fish, asked as at a terminal --------------------------------------------------------

ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; unsetopt zle_bracketed_paste; fpath=('$1' \$fpath); PATH='$2':\$PATH"
zpty -w shell "autoload -U compinit; compinit -u -D; LINES=400; COLUMNS=150; LISTMAX=0"
zpty -w shell "print BE''GIN"
zpty -r shell out '*BEGIN*'
zpty -w -n shell "$3"$'\t\t'
sleep 0.3
zpty -w -n shell $'\C-a\C-kprint E\'\'ND\n'
zpty -r shell out '*END*'
print -r -- "$out"
zpty -d shell
"""


def complete_zsh(line):
    """What zsh shows after two tabs."""
    done = subprocess.run(
        ["zsh", "-f", "-c", ZSH, "zsh", ROOT / "completions", os.path.dirname(COMMAND), line],
        capture_output=True, text=True, check=True, timeout=60, env={**os.environ, "TERM": "xterm"})
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", done.stdout)
    return shown.replace("\r", "\n").split("END")[0]


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is missing")
@pytest.mark.parametrize("command", COMMANDS)
def test_zsh_completes_every_option(polyad, command):
    shown = complete_zsh(f"polyad {command} --")
    found = set(re.findall(r"^(--[a-z0-9-]+) ", shown, re.M))
    assert found == options_of(polyad, command) | {"--help"}


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is missing")
def test_zsh_completes_words(polyad):
    shown = complete_zsh("polyad ")
    assert set(COMMANDS) <= set(re.findall(r"^([a-z-]+) +-- ", shown, re.M))
    assert {"als", "apr-mu", "apr-pdnr", "apr-pqnr"} <= set(
        complete_zsh("polyad cpd --algorithm ").split())


def complete_fish(line):
    """What fish offers: word to description."""
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source '{ROOT}/completions/polyad.fish'; complete -C $argv[1]",
         line], capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "PATH": os.path.dirname(COMMAND) + ":" + os.environ["PATH"]})
    assert done.stderr == ""
    return {word: text for word, _, text in (row.partition("\t") for row in done.stdout.splitlines())}


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is missing")
@pytest.mark.parametrize("command", COMMANDS)
def test_fish_completes_every_option(polyad, command):
    found = complete_fish(f"polyad {command} --")
    assert set(found) == options_of(polyad, command) | {"--help"}
    assert all(found.values())


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is missing")
def test_fish_completes_words(polyad):
    assert set(complete_fish("polyad ")) == {*COMMANDS, "help"}
    assert set(complete_fish("polyad help ")) == {*COMMANDS, "help"}
    assert set(complete_fish("polyad cpd --precision ")) == {"f32", "f64"}
    assert set(complete_fish("polyad bench m")) == {"mttkrp"}
    names = {row["name"] for row in polyad.json("formats")["formats"]}
    assert set(complete_fish("polyad cpd --format ")) == names | {"auto"}
    assert "-r" in complete_fish("polyad cpd -")
    assert any(word.endswith("/data/") for word in complete_fish(f"polyad cpd {ROOT}/da"))
