"""What a disk may hold after a power cut, from the record that the fault shim makes of a run.

POSIX promises little. Data of a file are safe only after fsync of that file; names (create, link,
rename, unlink) only after fsync of their directory. A state after the first `end` calls of the
record is therefore given by two choices:

- what happened to data that were written and not synced: kept; dropped (the file ends where it was
  synced); zeroed (the length is on the disk, the data are not); half kept;
- how many of the changes of names since the last sync of the directory are on the disk: they are
  applied in order, as journals do, or only the last of them is.
"""

import itertools
import pathlib

DATA = ("kept", "dropped", "zeroed", "half")


class Change:
    def __init__(self, line):
        self.what, *fields = line.rstrip("\n").split("\t")
        self.file = fields[0] if self.what in ("create", "write", "sync") else None
        if self.what == "write":
            self.offset, self.data = int(fields[1]), bytes.fromhex(fields[2])
        elif self.what in ("create", "sync_directory"):
            self.path = fields[1]
        elif self.what != "sync":
            self.path, self.target = fields[0], fields[1]


def read_record(path):
    return [Change(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]


def apply_write(data, offset, written):
    data = data.ljust(offset, b"\0")
    return data[:offset] + written + data[offset + len(written):]


class File:
    """Bytes that are safe, and writes that are not."""

    def __init__(self, data=b""):
        self.safe = data
        self.unsafe = []

    def now(self):
        data = self.safe
        for offset, written in self.unsafe:
            data = apply_write(data, offset, written)
        return data

    def after_crash(self, choice):
        if choice == "kept" or not self.unsafe:
            return self.now()
        if choice == "dropped":
            return self.safe
        if choice == "zeroed":
            return self.safe + bytes(max(0, len(self.now()) - len(self.safe)))
        data = self.safe
        for offset, written in self.unsafe[:(len(self.unsafe) + 1) // 2]:
            data = apply_write(data, offset, written[:(len(written) + 1) // 2])
        return data


class Disk:
    """One folder: names that are safe, changes of names that are not, and the files behind them."""

    def __init__(self, before):
        self.safe = {name: File(data) for name, data in before.items()}
        self.unsafe = []
        self.current = dict(self.safe)  # as the running system sees it
        self.open = {}                  # the files of the record's numbers

    def step(self, change):
        if change.what == "create":
            self.open[change.file] = File()
            self._name(lambda names, f=self.open[change.file]: names.update({change.path: f}))
        elif change.what == "write":
            self.open[change.file].unsafe.append((change.offset, change.data))
        elif change.what == "sync":
            file = self.open[change.file]
            file.safe, file.unsafe = file.now(), []
        elif change.what == "rename":
            self._name(lambda names: change.path in names and names.update(
                {change.target: names.pop(change.path)}))
        elif change.what == "link":
            self._name(lambda names: change.path in names and names.update(
                {change.target: names[change.path]}))
        elif change.what == "unlink":
            self._name(lambda names: names.pop(change.path, None))
        elif change.what == "sync_directory":
            self.safe, self.unsafe = dict(self.current), []

    def _name(self, apply):
        apply(self.current)
        self.unsafe.append(apply)

    def crash(self, data, names):
        """The files after a crash; `names` says which of the unsafe changes of names are there."""
        left = dict(self.safe)
        for apply in itertools.compress(self.unsafe, names):
            apply(left)
        return {name: file.after_crash(data) for name, file in left.items()}

    def name_choices(self):
        count = len(self.unsafe)
        choices = {tuple(k < kept for k in range(count)) for kept in range(count + 1)}
        if count > 1:
            choices.add(tuple(k == count - 1 for k in range(count)))
        return sorted(choices)


def states(record, before):
    """(calls done, files) of every different state, in the order of the record."""
    disk = Disk(before)
    for end in range(len(record) + 1):
        seen = []
        for data in DATA:
            for names in disk.name_choices():
                files = disk.crash(data, names)
                if files not in seen:
                    seen.append(files)
                    yield end, files
        if end < len(record):
            disk.step(record[end])
