"""Damaged and strange files for `stencil`: makes them, runs commands on them, and judges what comes out.

    python3 tests/app/fuzz.py --stencil build/release/app/stencil --files 20000 [--jobs N] [--seed N] [--keep DIR]

A file depends on the seed and its number alone: --only NUMBER makes that one again, and --keep keeps it (with what
stands beside it) where something failed. The exit code is 1 where something failed."""
import argparse
import collections
import json
import multiprocessing
import os
import pickle
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile

import h5py
import numpy

import fuzz_files
import fuzz_hdf5

CODES = (0, 1, 2, 64, 65, 66, 69, 71, 73, 74)  # 70, internal error, is a failure
SECONDS = 10
MOST_MEMORY = 1 << 30
ADDRESS_SPACE = 4 << 30  # a guard for the machine; the limit above is measured
FILE_SIZE = 1 << 30  # likewise: a result takes the room beforehand that a damaged size claims
CPU = ("--device", "cpu", "--threads", "1")
RUN = ("p.h5", *CPU, "--effort", "estimate", "--force", "-o", "out.h5")
NAMED = r"\b(p|out|base|start|x|source|m)\.(h5|json)\b|raw\.bin"
CONTROL = "[\x00-\x1f\x7f-\x9f]"
BLAME = r"damaged|truncated|cannot (open|read|look)"  # messages that say that HDF5 could not read
# Where h5py has values nevertheless: a short or lost chunk, which it fills with whatever it finds; conversions and
# copies, which it does not ask HDF5 for, and which crash; texts that are longer than reading may take memory for,
# and what takes longer than it may.
EXCUSED = "|".join((
    "packed chunk", "Fletcher32 checksum", "another size than it should", "chunk address isn't", "type that cannot be",
    "memory allocation failed", "made no progress", r"HDF5 \S+ crashed as it read"))

Failure = collections.namedtuple("Failure", "kind number origin command text")


class Outcome:
    """How a command ended: exit code (negative: signal; None: it took too long), lines on stderr, most memory."""

    def __init__(self, command, code, errors, memory):
        self.command, self.code, self.errors, self.memory = command, code, errors, memory

    @property
    def lines(self):
        return self.errors.splitlines()


class Fuzzer:
    def __init__(self, stencil, seed=1, keep=None):
        self.stencil, self.seed, self.keep = os.path.abspath(stencil), seed, keep and os.path.abspath(keep)
        self.failures, self.codes, self.messages = [], collections.Counter(), {}
        self.files = self.accepted = self.compared = 0
        self.started = os.getcwd()
        self.folder = tempfile.mkdtemp(prefix="stencil-fuzz-")
        self.work = os.path.join(self.folder, "work")
        os.mkdir(self.work)
        self.environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(self.folder, "cache"), "TMPDIR": self.folder}
        self.limits = [(what, resource.getrlimit(what))
                       for what in (resource.RLIMIT_AS, resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)]
        resource.setrlimit(resource.RLIMIT_CORE, (0, self.limits[1][1][1]))

    def __enter__(self):
        os.chdir(self.work)
        self.bases = fuzz_files.bases(self.stencil, self.work)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, self.limits[2][1][1]))
        # Children inherit the limit; a function that sets it in each of them would cost more than most of them take.
        if os.environ.get("STENCIL_SLOW") != "1":
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, self.limits[0][1][1]))
        return self

    def __exit__(self, *_):
        for what, limit in self.limits:
            resource.setrlimit(what, limit)
        os.chdir(self.started)
        shutil.rmtree(self.folder)

    # Running

    def call(self, *arguments):
        """Runs the command, with a limit of time."""
        with open(os.path.join(self.folder, "stderr"), "w+b") as errors:
            process = subprocess.Popen([self.stencil, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=errors,
                                       env=self.environment)
            status, usage, late = wait(process.pid, SECONDS)
            process.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            text = errors.read(1 << 16).decode("utf-8", "backslashreplace")
        return Outcome(" ".join(arguments), None if late else process.returncode, text, usage.ru_maxrss * 1024)

    def apart(self, function, *arguments):
        """What a function gives in a process of its own; None where it fails, crashes or takes too long."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                sys.stderr.flush()
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, 2)
                os.dup2(null, 1)
                answer = pickle.dumps(function(*arguments))
                with os.fdopen(writer, "wb") as file:
                    file.write(answer)
            except BaseException:  # whatever it is, there is no answer
                pass
            finally:
                os._exit(0)
        os.close(writer)
        answer = b""
        with os.fdopen(reader, "rb") as file:
            while select.select([file], [], [], SECONDS)[0]:
                piece = os.read(file.fileno(), 1 << 20)
                if not piece:
                    break
                answer += piece
        wait(child, 0.5)
        try:
            return pickle.loads(answer) if answer else None
        except (pickle.UnpicklingError, EOFError):
            return None

    def snapshot(self):
        found = {}
        for name in sorted(os.listdir(".")):
            if os.path.isfile(name):
                with open(name, "rb") as file:
                    found[name] = file.read()
            else:
                found[name] = None
        return found

    # Judging

    def fail(self, kind, origin, command, text):
        self.failures.append(Failure(kind, self.number, origin, command, text))
        if self.keep:
            folder = os.path.join(self.keep, f"{kind}-{self.seed}-{self.number}")
            os.makedirs(folder, exist_ok=True)
            for name, content in self.before.items():
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(content)
            with open(os.path.join(folder, "what"), "a", encoding="utf-8") as file:
                file.write(f"{origin}\nstencil {command}\n{text}\n")

    def judge(self, origin, outcome, result=None, also=()):
        """Looks at how a command ended; result is the file that it writes where its exit code is 0 or 2, also are names
        that may be new or changed."""
        def fail(kind, text):
            self.fail(kind, origin, outcome.command, text)

        code, lines = outcome.code, outcome.lines
        self.codes["time-out" if code is None else code] += 1
        if code is None:
            fail("time-out", f"more than {SECONDS} s")
        elif code < 0:
            fail("signal", f"{signal.Signals(-code).name} {outcome.errors[-300:]}".strip())
        elif code not in CODES:
            fail("code", f"{code}: {outcome.errors}")
        if outcome.memory > MOST_MEMORY:
            fail("memory", f"{outcome.memory >> 20} MiB")
        if code is not None and code >= 64:
            if len(lines) != 1 or not lines[0].startswith("stencil: "):
                fail("lines", f"{code}: {outcome.errors!r}")
            else:
                self.messages.setdefault(shape_of(lines[0]), []).append(self.number)
                if not re.search(NAMED, lines[0]) and not (code == 64 and "--" in lines[0]):
                    fail("name", f"{code}: {lines[0]}")
                elif not re.search(r": .*\w{2,}.* \w+|' \w+ \w+", lines[0][len("stencil: "):]):
                    fail("reason", f"{code}: {lines[0]}")
                if re.search(CONTROL, lines[0]):
                    fail("lines", f"{code}: control characters: {lines[0]!r}")
        elif code is not None and code >= 0 and lines:
            # Notes that may change what the result means, with -q, and what ended a run that did not converge.
            known = [line.startswith("stencil: ") and not re.search(CONTROL, line) for line in lines]
            if not all(known) or len(lines) > (code == 2) and "-q" not in outcome.command.split():
                fail("lines", f"{code}: {outcome.errors!r}")
        after = self.snapshot()
        if code is not None and code >= 0:  # a process that is killed may leave a temporary file
            wanted = set(self.before) | ({result} if result and code in (0, 2) else set())
            names = set(after) - set(also)
            if names != wanted - set(also):
                fail("left", f"{code}: {sorted(names ^ wanted)}")
        for name, content in self.before.items():
            if name not in also and after.get(name) != content and not (name == result and code in (0, 2)):
                fail("changed", f"{code}: {name}")
        return code

    def clear(self, files):
        for name in os.listdir("."):
            if os.path.isdir(name) and not os.path.islink(name):
                shutil.rmtree(name)
            else:
                os.unlink(name)
        for name, content in files.items():
            with open(name, "wb") as file:
                file.write(content)
        self.before = files

    # HDF5

    def make(self, number):
        """The files of a number, by name, and what they are made of."""
        rng = random.Random(f"{self.seed} {number}")
        base = rng.choice(self.bases)
        beside = {**base.beside, "base.h5": base.content}
        way = rng.random()
        origin, content = base.name, base.content
        if way < 0.45:
            kinds = fuzz_files.GENTLE if way < 0.2 else fuzz_files.HARSH
            self.clear({"p.h5": content, **beside})
            done = fuzz_files.change(rng, "p.h5", kinds, rng.choice((1, 1, 2, 3)))
            with open("p.h5", "rb") as file:
                content = file.read()
            origin += f": {', '.join(done)}"
        elif way < 0.55:
            content, origin = fuzz_hdf5.damage_data(rng, content, base.found), f"{origin}: other data"
        if way >= 0.55 or (way >= 0.2 and rng.random() < 0.15):
            if way >= 0.55 and "source.h5" in beside or "raw.bin" in beside and rng.random() < 0.3:
                name = rng.choice(sorted(base.beside))
                beside[name] = fuzz_hdf5.damage(rng, beside[name], base.found)
                origin += f", {name} damaged"
            if len(content) >= max(structure.end for structure in base.found):
                content, origin = fuzz_hdf5.damage(rng, content, base.found), f"{origin}, damaged"
        return {"p.h5": content, **beside}, origin, rng

    def try_file(self, number):
        self.number = number
        files, origin, rng = self.make(number)
        self.files += 1
        self.clear(files)
        failed = len(self.failures)
        outcome = self.call(*RUN, "--steps", "3", *(("-q",) if number % 3 == 0 else ()))
        code = self.judge(origin, outcome, "out.h5")
        if code in (0, 2):
            self.accepted += 1
            self.look_at_result(origin)
            if len(self.failures) == failed and rng.random() < 0.5:
                if self.judge(origin, self.call("verify", "out.h5"), also=("out.h5",)) == 1:
                    self.fail("verify", origin, "verify out.h5", "the result that was just made is not verified")
            self.clear(files)
        elif code == 65 and re.search(BLAME, outcome.errors) and not re.search(EXCUSED, outcome.errors) and \
                self.apart(read_all, "p.h5") and self.elsewhere("reads_all"):
            self.fail("reason", origin, outcome.command, f"h5py reads all of the file: {outcome.errors}")
        self.rotate(origin, number, files)
        if code in (0, 2):
            self.clear(files)
            if self.judge(origin, self.call(*RUN, "--steps", "0"), "out.h5") in (0, 2):
                self.look_at_cells(origin)

    def rotate(self, origin, number, files):
        original = "start.h5" if "start.h5" in files else "base.h5"
        commands = [
            ("verify", "p.h5", original), ("compare", "p.h5", "base.h5"), ("p.h5", *CPU, "--dry-run"),
            ("plan", "p.h5", *CPU), ("plot", "p.h5", "--against", "base.h5"), ("plot", "p.h5", "-d", "residual"),
            ("plot", "p.h5"),
            ("compare", "base.h5", "p.h5", "--rtol", "0.1", "-q"),
            ("p.h5", *CPU, "--steps", "7", "--force", "-o", "p.h5", "-q"),
            ("verify", "base.h5", "p.h5") if "start.h5" in files else
            ("p.h5", *CPU, "--dry-run", "--allow-nonfinite", "--allow-unwritten")]
        for command in (commands[number % len(commands)], commands[(number + 2) % len(commands)]):
            self.clear(files)
            self.judge(origin, self.call(*command), "p.h5" if "--steps" in command else None)

    def look_at_result(self, origin):
        """A result is a whole file that h5py reads."""
        found = self.apart(contents_of_result, "out.h5")
        if found is None:
            self.fail("incomplete", origin, "run", "h5py cannot read the result")
        elif found:
            self.fail("incomplete", origin, "run", found)

    def look_at_cells(self, origin):
        """The result of no steps has the cells that h5py reads."""
        expected, found = self.apart(expected_cells, "p.h5"), self.apart(cells_of_result, "out.h5", "p.h5")
        if expected is None:
            return
        self.compared += 1
        if found is None:
            self.fail("cells", origin, "--steps 0", "h5py cannot read the result")
        elif found.dtype != expected.dtype or found.shape != expected.shape:
            self.fail("cells", origin, "--steps 0",
                      f"{found.dtype}{found.shape} and not {expected.dtype}{expected.shape}")
        else:
            bits = f"u{found.itemsize}"
            unlike = (found.view(bits) != expected.view(bits)) & ~(numpy.isnan(found) & numpy.isnan(expected))
            if found.itemsize == 8:  # beside very large values a run multiplies by 2^-512, and rounds subnormal ones
                with numpy.errstate(all="ignore"):
                    unlike &= ~(numpy.abs(found - expected) <= 2.0**-562)
            if unlike.any() and self.elsewhere("expected_bytes") == expected.tobytes():
                place = tuple(int(n) for n in numpy.argwhere(unlike)[0])
                self.fail("cells", origin, "--steps 0",
                          f"{unlike.sum()} of them differ, first {place}: {found[place]!r}, not {expected[place]!r}")

    def elsewhere(self, function):
        """The bytes that a function gives of p.h5 in new processes, whose memory holds other things before they are
        written: of damaged attributes HDF5 takes some that nobody wrote, and then the answers differ (None)."""
        code = f"import sys, fuzz; sys.stdout.buffer.write(bytes(fuzz.{function}('p.h5')))"
        folder = os.path.dirname(os.path.abspath(__file__))
        answers = {subprocess.run([sys.executable, "-c", code], capture_output=True, env={
            **self.environment, "MALLOC_PERTURB_": byte, "PYTHONPATH": folder}).stdout for byte in ("90", "165", "0")}
        return answers.pop() if len(answers) == 1 else None

    # JSON

    def make_json_bases(self, machine):
        """Files of machines, of wisdom and of benchmarks, with the commands that read them."""
        with h5py.File("q.h5", "w") as file:
            file["u"] = numpy.random.default_rng(1).random((40, 50))
            file.attrs.update({"problem": "heat", "steps": 10**9})
        patient = ("q.h5", *CPU, "--effort", "measure", "--wisdom", "m.json")
        kinds = (
            ("machine", ("info", "--json", "m.json")),
            ("calibrate", ("calibrate", "--device", "cpu", "--threads", "1", "--seconds", "0.01", "--noise", "1e9",
                           "-q", "--json", "m.json")),
            ("wisdom", ("q.h5", *CPU, "--steps", "60000", "--effort", "exhaustive", "--wisdom", "m.json", "-qq",
                        "--no-output")),
            ("bench", ("bench", "copy", "sweep", *CPU, "--samples", "3", "--iterations", "2", "--size", "130x70", "-q",
                       "--json", "m.json")))
        self.json_commands = {
            "machine": [("q.h5", "--dry-run", "--machine", "m.json"), ("plan", "q.h5", "--machine", "m.json"),
                        ("plan", "--size", "999x99", "--stencil", "j2d9pt", "--machine", "m.json")],
            "wisdom": [(*patient, "--dry-run"), ("wisdom", "m.json", "--into", "x.json"),
                       (*patient, "--steps", "20000", "--no-output"), ("wisdom", "x.json", "--into", "m.json")],
            "bench": [("bench", "--from", "m.json"), ("bench", "--from", "m.json", "--md", "-"),
                      ("bench", "--from", "m.json", "--csv", "-")]}
        self.json_commands["calibrate"] = self.json_commands["machine"]
        self.json_bases = []
        for kind, command in kinds:
            outcome = self.call(*command)
            if os.path.exists("m.json"):
                with open("m.json", encoding="utf-8") as file:
                    self.json_bases.append((kind, json.load(file)))
                os.unlink("m.json")
            elif outcome.code != 0:  # times that spread too much are no wisdom, and there is no file then
                raise RuntimeError(f"{outcome.command}: {outcome.code} {outcome.errors}")
        if machine:
            self.json_bases.append(("machine", machine))
        with open("q.h5", "rb") as file:
            self.problem = file.read()

    def try_json(self, number):
        self.number = f"json-{number}"
        rng = random.Random(f"{self.seed} json {number}")
        kind, tree = rng.choice(self.json_bases)
        self.files += 1
        text, done = damaged_json(rng, tree)
        files = {"m.json": text, "q.h5": self.problem}
        command = self.json_commands[kind][number % len(self.json_commands[kind])]
        if "x.json" in command:
            files["x.json"] = json.dumps(tree).encode()
        self.clear(files)
        outcome = self.call(*command)
        also = ("m.json", "x.json", "m.json.lock",
                "x.json.lock") if kind == "wisdom" and outcome.code == 0 else ("m.json.lock", "x.json.lock")
        code = self.judge(f"{kind}: {done}", outcome, also=also)
        if code in (0, 2):
            self.accepted += 1
            for name in ("m.json", "x.json") if kind == "wisdom" else ():
                if os.path.exists(name) and self.snapshot()[name] != files.get(name):
                    with open(name, "rb") as file:
                        try:
                            json.load(file)
                        except ValueError as error:
                            self.fail("incomplete", f"{kind}: {done}", outcome.command, f"{name} is no JSON: {error}")

    # Telling

    def take(self, other):
        """Adds what another one has found."""
        self.failures += other.failures
        self.codes += other.codes
        for message, numbers in other.messages.items():
            self.messages[message] = sorted(self.messages.get(message, []) + numbers, key=str)
        self.files += other.files
        self.accepted += other.accepted
        self.compared += other.compared

    def summary(self):
        share = self.accepted / max(1, self.files)
        lines = [f"{self.files} files, {self.accepted} of them accepted ({share:.0%}), cells of "
                 f"{self.compared} compared with h5py's",
                 "commands by exit code: " +
                 ", ".join(f"{code}: {count}" for code, count in sorted(self.codes.items(), key=str))]
        for kind, count in sorted(collections.Counter(failure.kind for failure in self.failures).items()):
            numbers = {failure.number for failure in self.failures if failure.kind == kind}
            lines.append(f"{kind}: {count} failures in {len(numbers)} files")
        for failure in self.failures:
            lines.append(f"FAILED {failure.kind} --seed {self.seed} --only {failure.number} ({failure.origin})\n"
                         f"    stencil {failure.command}\n    {failure.text}")
        return "\n".join(lines)


def wait(process, seconds):
    """Waits for a child; one that takes longer is killed. Gives status, usage of resources, and whether it was late."""
    late = []

    def kill(*_):
        late.append(True)
        os.kill(process, signal.SIGKILL)

    before = signal.signal(signal.SIGALRM, kill)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        _, status, usage = os.wait4(process, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return status, usage, bool(late)


def shape_of(line):
    """A message without its numbers and what it quotes."""
    return re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "N", re.sub(r"'[^']*'", "'…'", line))


def contents_of_result(name):
    with h5py.File(name, "r") as file:
        missing = [wanted for wanted in ("residual", "residual_step", "provenance") if wanted not in file]
        if missing or "steps_total" not in file.attrs or field_name(file) is None:
            return f"it lacks {missing or 'steps_total, or its field'}"
        file[field_name(file)][()]
    return ""


def read_all(name):
    """Whether h5py reads all objects of a file, and all of their attributes."""
    def read(_, thing):
        for key in thing.attrs:
            thing.attrs[key]
        if isinstance(thing, h5py.Dataset):
            thing[()]

    with h5py.File(name, "r") as file:
        read("/", file)
        file.visititems(read)
        return all(file.get(key, getlink=True) is not None for key in file)


def reads_all(name):
    return b"yes" if read_all(name) else b""


def field_name(file):
    name = file.attrs.get("field", "u")
    name = name.decode() if isinstance(name, bytes) else name
    if isinstance(name, str) and name and isinstance(file.get(name), h5py.Dataset):
        return name
    return "u" if isinstance(file.get("u"), h5py.Dataset) else None


def expected_cells(name):
    """The field as h5py and NumPy read it, in the precision of a run; None where these rules are not enough."""
    with h5py.File(name, "r") as file:
        dataset = file[field_name(file)]
        if dataset.dtype.kind not in "fiu" or dataset.size > 10**6:
            return None
        packing = [dataset.attrs.get(key) for key in ("scale_factor", "add_offset")]
        stored = dataset.id.get_type().get_size()  # NumPy's may be larger, for the range of a damaged type
        own = numpy.dtype("f4" if dataset.dtype.kind == "f" and stored <= 4 else "f8")
        if dataset.id.get_type() == h5py.h5t.py_create(dataset.dtype) and dataset.dtype.itemsize <= 8:
            raw = dataset[()]
        else:  # a type that NumPy has no equal of
            raw = numpy.zeros(dataset.shape, own)
            dataset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw)
        with numpy.errstate(all="ignore"):
            if any(value is not None for value in packing):
                packing = [numpy.asarray(default if value is None else value)
                           for value, default in zip(packing, (1.0, 0.0))]
                given = [value.dtype for value, key in zip(packing, ("scale_factor", "add_offset"))
                         if key in dataset.attrs]
                if any(value.size != 1 or value.dtype.kind not in "fiu" for value in packing):
                    return None
                narrow = dataset.dtype.kind in "iu" or dataset.dtype.itemsize <= 4
                own = numpy.dtype("f4" if narrow and all(kind.kind == "f" and kind.itemsize <= 4 for kind in given)
                                  else "f8")
                scale, offset = (value.reshape(()).astype("f8") for value in packing)
                return numpy.ascontiguousarray((raw.astype("f8") * scale + offset).astype(own))
            return numpy.ascontiguousarray(raw.astype(own))


def expected_bytes(name):
    return expected_cells(name).tobytes()


def cells_of_result(name, problem):
    with h5py.File(name, "r") as file:
        return numpy.ascontiguousarray(file[field_name(file)][()])


def places(tree):
    """Every container of a tree with each of its keys."""
    found, left = [], [tree]
    while left:
        node = left.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            found.append((node, key))
            if isinstance(node[key], (dict, list)):
                left.append(node[key])
    return found


def damaged_json(rng, tree):
    """Text made of a changed copy of a tree, or damaged text; and what was done."""
    tree, done = json.loads(json.dumps(tree)), []
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 5))):
        node, key = rng.choice(places(tree))
        old, choice = node[key], rng.randrange(10)
        if choice == 0:
            del node[key]
        elif choice < 3:
            node[key] = rng.choice((None, True, "", "text", "é\n", "a" * 3000, [], {}, [[]], [1, 2, 3], {"a": 1},
                                    "nan", "%s%n", "\0"))
        elif choice < 4 and isinstance(node, dict):
            node[rng.choice(list(node))] = old
        elif choice < 5 and isinstance(old, list):
            node[key] = old * rng.choice((2, 100))
        elif choice < 6 and isinstance(node, dict):
            node[f"{key}x"] = node.pop(key)
        else:
            scale = rng.choice((0, -1, 2, 0.5, 1e-300, 1e300, 1e9, 1e-9, 1000))
            node[key] = old * scale if isinstance(old, (int, float)) and rng.random() < 0.5 else rng.choice(
                (0, 1, -1, 2, 2**31, 2**31 - 1, -2**31, 2**32, 2**63 - 1, -2**63, 2**53, 10**6, 0.0, -0.0, 0.5, 1e308,
                 1e-308, 5e-324, -1e300))
        done.append(f"{key}")
        if not tree:
            break
    text = json.dumps(tree, allow_nan=True, ensure_ascii=rng.random() < 0.5)
    text = bytearray(text.replace("Infinity", "1e308").replace("NaN", "0").encode())
    if rng.random() < 0.25 and len(text) > 3:
        choice, at = rng.randrange(8), rng.randrange(len(text))
        done.append(f"text {choice}")
        if choice == 0:
            del text[at:]
        elif choice == 1:
            text[at] ^= 1 << rng.randrange(8)
        elif choice == 2:
            text[at:at] = rng.choice((b"\0", b"\xff", b"[" * 5000, b"{\"a\":" * 3000, b"1e999", b"\xed\xa0\x80",
                                      b"\\u0000", b"//"))
        elif choice == 3:
            text += rng.choice((b"{}", b"x", b"\0", b" " * 100000))
        elif choice == 4:
            text[:] = rng.choice((b"", b"\n", b"null", b"0", b"[" * 100000, b"{\"schema_version\": 1e400}",
                                  b"\xef\xbb\xbf{}", b"\x1f\x8b"))
        elif choice == 5:
            size = rng.randrange(1, 200)
            text[at:at] = text[at:at + size]
        elif choice == 6:
            text = bytearray(re.sub(rb"\d+(?=[,}\]])", lambda digits: rng.choice((digits[0], digits[0], b"1e999",
                                                                                  b"9" * 30, b"-0")), bytes(text)))
        else:
            version = rng.choice((b"0", b"2", b"\"1\"", b"1.5"))
            text = bytearray(text.replace(b"\"schema_version\": 1", b"\"schema_version\": " + version))
    return bytes(text), ", ".join(done) or "as it is"


def try_part(options, job, jobs):
    """The share of a process in all files; gives the fuzzer with what it has found."""
    only_json = options.only and options.only.startswith("json-")
    jsons = options.files // 10 if options.json_files is None else options.json_files
    numbers = range(job, options.files, jobs) if not options.only else [] if only_json else [int(options.only)]
    with Fuzzer(options.stencil, options.seed, options.keep) as fuzzer:
        for number in numbers:
            fuzzer.try_file(number)
            if sys.stderr.isatty():
                print(f"\r{number + 1} files, {len(fuzzer.failures)} failures ", end="", file=sys.stderr)
        if jsons and (only_json or not options.only):
            fuzzer.clear({})
            with open(options.machine, encoding="utf-8") as file:
                fuzzer.make_json_bases(json.load(file))
            for number in range(job, jsons, jobs) if not only_json else [int(options.only[5:])]:
                fuzzer.try_json(number)
        return fuzzer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stencil", required=True, help="the program")
    parser.add_argument("--files", type=int, default=1000, help="how many HDF5 files")
    parser.add_argument("--json-files", type=int, default=None, help="how many JSON files (a tenth of --files)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="the number of one file, as the list of failures has it")
    parser.add_argument("--keep", help="where to keep files that something failed with")
    parser.add_argument("--messages", action="store_true",
                        help="print the messages that were seen, how often, and where first")
    parser.add_argument("--machine", type=os.path.abspath, help="one more file of a machine to damage",
                        default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "h200-x8.json"))
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the files")
    options = parser.parse_args()
    jobs = options.jobs if not options.only else 1
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        parts = pool.starmap(try_part, [(options, job, jobs) for job in range(jobs)], 1)
    fuzzer = parts[0]
    for part in parts[1:]:
        fuzzer.take(part)
    if options.messages:
        for message, numbers in sorted(fuzzer.messages.items(), key=lambda item: -len(item[1])):
            print(f"{len(numbers):6} (first: {numbers[0]}) {message}")
    print(fuzzer.summary())
    return 1 if fuzzer.failures else 0


if __name__ == "__main__":
    sys.exit(main())
