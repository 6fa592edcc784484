"""The files that the fuzzer begins with, made by h5py, and changes to them that h5py can make: other attributes,
values, shapes, types, links and chunks."""
import os
import subprocess
import zlib

import h5py
import numpy

import fuzz_hdf5

CHUNKED = {"chunks": (5, 4), "compression": "gzip", "shuffle": True, "fletcher32": True}


def values(*shape, dtype="f8"):
    return (numpy.random.default_rng(7).random(shape) * 100).astype(dtype)


def make_plain(file):
    file["u"] = values(11, 9)
    file.attrs.update({"stencil": "j2d5pt", "boundary": ["fixed", "periodic"], "steps": 5, "check_every": 2})


def make_filtered(file):
    file.create_dataset("u", data=values(11, 9), **CHUNKED)
    file.create_dataset("f", data=values(11, 9, dtype="f4"), chunks=(11, 3), compression="gzip")
    file.attrs.update({"problem": "poisson", "spacing": [0.5, 0.25], "omega": 0.9, "atol": 1e-9})


def make_small_types(file):
    file.create_dataset("u", data=values(6, 7, 8, dtype="i2"), chunks=(3, 7, 4), maxshape=(None, 7, 8))
    file.create_dataset("b", data=values(6, 7, 8, dtype=">f4"))
    file.attrs.update({"stencil": "j3d7pt", "boundary": "mirror", "steps": numpy.int16(4), "norm": "max"})


def make_fixed(file):
    file["u"] = values(11, 9)
    file.create_dataset("fixed", data=values(11, 9) < 30, **CHUNKED)
    file.attrs.update({"problem": "laplace", "steps": 6, "check_every": 2, "accelerate": "chebyshev:2"})


def make_classed(file):
    file["u"] = values(11, 9)
    file.create_dataset("class", data=(values(11, 9) / 34).astype("i4"), **CHUNKED)
    file["fixed"] = values(11, 9) < 10
    file["stencil/offsets"] = numpy.array([[0, 0], [-1, 0], [0, 2]], "i4")
    file["stencil/weights"] = values(3, 3) / 200
    file.attrs.update({"boundary": "periodic", "steps": 6, "check_every": 2})


def make_walled(file):
    file["u"] = values(11, 9)
    file.create_dataset("insulated", data=values(11, 9) < 10, **CHUNKED)
    file.attrs.update({"problem": "heat", "steps": 6, "check_every": 2, "boundary": ["mirror", "fixed"],
                       "boundary_x-": "flux", "flux_x-": 2.0, "boundary_y+": "exchange-node", "exchange_y+": 0.5,
                       "ambient_y+": 20.0})


def make_compact(file):
    space, plist = h5py.h5s.create_simple((7, 6)), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    dataset = h5py.h5d.create(file.id, b"u", h5py.h5t.IEEE_F32BE, space, plist)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, values(7, 6, dtype="f4"))
    file["stencil/offsets"] = numpy.array([[0, 0], [-1, 0], [0, 2]], "i4")
    file["stencil/weights"] = [0.5, 0.25, 0.25]


def make_virtual(file):
    with h5py.File("source.h5", "w", libver="latest") as source:
        source["v"] = values(11, 9)
    layout = h5py.VirtualLayout((11, 9), "f8")
    layout[:6] = h5py.VirtualSource("source.h5", "v", (11, 9))[:6]
    layout[6:] = h5py.VirtualSource("source.h5", "v", (11, 9))[6:]
    file.create_virtual_dataset("u", layout)
    file.attrs.update({"problem": "laplace", "rtol": 1e-3, "accelerate": "chebyshev:4"})


def make_external(file):
    values(11, 9).tofile("raw.bin")
    file.create_dataset("u", (11, 9), "f8", external=[("raw.bin", 0, 400), ("raw.bin", 400, 392)])
    file.attrs.update({"problem": "heat", "dt": 0.1, "diffusivity": 0.5, "time_end": 1.0})


def make_attributes(file):
    """Attributes of all kinds, more of them than fit into an object header."""
    file["u"] = values(11, 9, dtype="<f2")
    text, fixed = h5py.string_dtype(), h5py.string_dtype("ascii", 9)
    file.attrs.create("stencil", "j2d9pt", dtype=fixed)
    file.attrs.create("boundary", ["mirror", "periodic"], dtype=text)
    file.attrs.update({"steps": numpy.array([3], ">i8"), "rtol": numpy.float32(0.1), "list": [1, 2, 3],
                       "text": "as it is",
                       "pair": numpy.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]), "truth": True,
                       "none": h5py.Empty("f8"),
                       "root": file.ref, "region": file["u"].regionref[2:4, :], "complex": 1 + 2j,
                       "words": numpy.array([b"a", b"bc"], "S4")})
    file.attrs.create("ragged", numpy.array([numpy.arange(3), numpy.arange(5)], object), dtype=h5py.vlen_dtype("i4"))
    file.attrs.create("choice", 1, dtype=h5py.enum_dtype({"no": 0, "yes": 1}))
    for number in range(12):
        file["u"].attrs[f"mine {number}"] = numpy.arange(number)


def make_packed(file):
    file.create_dataset("u", data=values(11, 9, dtype=">i2"), chunks=(4, 9), fillvalue=-1)
    file["u"].attrs.update({"scale_factor": numpy.float32(0.5), "add_offset": numpy.float32(3),
                            "_FillValue": numpy.int16(-999),
                            "valid_range": numpy.array([-998, 2000], "i2"), "units": "K"})
    file.attrs.update({"stencil": "j2ds9pt", "steps": 2})


def make_own(file):
    """Groups, datasets, links and references of the user's own."""
    file.create_dataset("temperature", data=values(11, 9, dtype="f4"), track_order=True)
    file.attrs.update({"field": "temperature", "stencil": "j2d5pt", "steps": 3})
    group = file.create_group("mine/deeper")
    for number in range(20):
        group[f"x{number}"] = number
    group["text"] = ["one", "two", "three"]
    group["references"] = numpy.array([file.ref, file["mine"].ref, file["temperature"].ref], h5py.ref_dtype)
    group["loop"] = file
    file["soft"], file["external"] = h5py.SoftLink("/mine/deeper/x3"), h5py.ExternalLink("elsewhere.h5", "/x")
    file["again"] = file["temperature"]
    file["named"] = numpy.dtype([("a", "i4"), ("b", "S5")])
    file.create_dataset("large", (40, 50), "i4", chunks=(7, 8), maxshape=(None, None), compression="gzip")[:20] = 3


def make_scales(file):
    file.create_dataset("u", data=values(11, 9), chunks=(11, 9), maxshape=(None, None), scaleoffset=None)
    file["y"], file["x"] = numpy.arange(11) * 0.5, numpy.arange(9) * 0.25
    for number, name in enumerate("yx"):
        file[name].make_scale(name)
        file["u"].dims[number].attach_scale(file[name])
        file["u"].dims[number].label = name
    file.attrs.update({"problem": "heat", "steps": 4})
    file["q"] = values(11, 9, dtype="i4")
    file["q"].dims[0].attach_scale(file["y"])


def make_grown(file):
    """Chunks in all the indices: one that grows along one axis, one that is implicit, one of a single chunk."""
    file.create_dataset("u", data=values(20, 6), chunks=(2, 3), maxshape=(None, 6))
    file.create_dataset("b", data=values(20, 6), chunks=(20, 6), maxshape=(20, 6), compression="gzip")
    file.create_dataset("fixed", data=values(20, 6), chunks=(3, 2))
    file.attrs.update({"stencil": "j2d25pt", "boundary": "periodic", "steps": 2})
    for number in range(30):
        file.create_group(f"group {number}")


MAKERS = {name[5:]: function for name, function in list(globals().items()) if name.startswith("make_")}


class Base:
    """A file to begin with: its content, the files beside it, its structures, and what is run on it."""

    def __init__(self, name, content, beside, objects):
        self.name, self.content, self.beside = name, content, beside
        self.found = fuzz_hdf5.structures(content, objects)


def objects_of(name):
    """Where the headers of all objects of a file are."""
    with h5py.File(name, "r") as file:
        places = {h5py.h5o.get_info(file.id).addr}
        file.visititems(lambda _, thing: places.add(h5py.h5o.get_info(thing.id).addr))
    return places


def read_base(name, path):
    beside = {}
    for other in os.listdir("."):
        if other != path:
            with open(other, "rb") as file:
                beside[other] = file.read()
    with open(path, "rb") as file:
        content = file.read()
    return Base(name, content, beside, objects_of(path))


def make_result(stencil, versions):
    """A result with a history, whose provenance is the same every time."""
    with h5py.File("start.h5", "w", libver=versions) as file:
        file["u"], file["f"] = values(11, 9), values(11, 9) - 50
        file.attrs.update({"problem": "poisson", "steps": 20, "check_every": 2, "mine": [1, 2]})
    subprocess.run([stencil, "start.h5", "--device", "cpu", "--threads", "1", "--effort", "estimate", "-qq", "-o",
                    "p.h5"],
                   check=True, stdin=subprocess.DEVNULL)
    with h5py.File("p.h5", "a") as file:
        for name, value in file["provenance"].attrs.items():
            if name in ("input", "started", "command_line", "version"):
                file["provenance"].attrs[name] = "start.h5"
            elif name.endswith("_s"):
                file["provenance"].attrs[name] = 0.001


def bases(stencil, folder):
    """All of them, made in a folder that is empty again in the end; in the oldest and in the newest form of HDF5's
    structures."""
    made = []
    for versions in ("earliest", "latest"):
        for name, make in {**MAKERS, "result": None}.items():
            if name == "virtual" and versions == "earliest":
                continue
            if make is None:
                make_result(stencil, versions)
            else:
                with h5py.File("p.h5", "w", libver=versions) as file:
                    make(file)
            made.append(read_base(f"{name} {versions}", "p.h5"))
            for path in os.listdir(folder):
                os.unlink(os.path.join(folder, path))
    return made


# Changes through h5py. Each function changes an open file, given a random.Random.

NAMES = ("format", "field", "stencil", "problem", "boundary", "spacing", "omega", "accelerate", "diffusivity", "dt",
         "steps",
         "time_end", "rtol", "atol", "tolerance", "norm", "check_every", "steps_total", "residual_first", "time",
         "time_first",
         "plain_from", "fingerprint", "digest_u", "digest_b", "time", "boundry", "alpha", "dx", "mine")
FIELD_NAMES = ("scale_factor", "add_offset", "_FillValue", "missing_value", "valid_range", "valid_min", "valid_max",
               "_Unsigned",
               "units", "spacing", "mine", "DIMENSION_LIST", "CLASS", "DIMENSION_LABELS")
TEXTS = ("", "fixed", "periodic", "mirror", "j2d5pt", "j3d7pt", "j2d9pt", "heat", "laplace", "poisson", "l2", "max",
         "none",
         "chebyshev", "chebyshev:4", "chebyshev:3", "chebyshev:99999999999", "stencil 1", "stencil 2",
         "stencil 99999999999", "u",
         "/u", "b", "/", "..", "x\ny", "tab\there", "\x1b[31mred", "true", "é" * 9, "a" * 5000, "0" * 32, "f" * 31,
         "%s%n")


def any_value(rng):
    kind = rng.randrange(14)
    if kind < 4:
        return rng.choice((0, 1, -1, 2, 3, 7, 100, 2**31, 2**31 - 1, -2**31, 2**63 - 1, -2**63, 10**9,
                           rng.randrange(1000)))
    if kind < 7:
        return rng.choice((0.0, -0.0, 0.5, 1.0, 1.5, -1.0, 1e-3, 1e-9, 1e300, 1e-300, 5e-324, 1e40, float("nan"),
                           float("inf"),
                           -float("inf"), 0.1, rng.random(), 2.0**53 + 2))
    if kind < 9:
        return rng.choice(TEXTS)
    return rng.choice((
        True, h5py.Empty("f8"), h5py.Empty("S4"), numpy.bytes_(b"fix\xffed"), numpy.bytes_(b"a\0b"), numpy.float32(0.5),
        1j,
        numpy.zeros(0), numpy.array([1, 2]), numpy.array([0.5, 0.25, 0.125]), numpy.array([[1.0, 2.0]]),
        numpy.array([3]),
        numpy.array([b"fixed", b"mirror"]), numpy.array([0.1], ">f4"), numpy.uint64(2**64 - 1),
        numpy.longdouble("1e4000"),
        numpy.array([(1, 2)], [("a", "i4"), ("b", "i4")]), numpy.arange(3000), numpy.float16(0.5), numpy.uint8(200)))


def field_of(file):
    return next((name for name in ("u", "temperature") if isinstance(file.get(name, getlink=True), h5py.HardLink)
                 and isinstance(file.get(name), h5py.Dataset)), None)


def set_attribute(rng, file):
    file.attrs[rng.choice(NAMES)] = any_value(rng)


def set_fitting_attribute(rng, file):
    name, choices = rng.choice((
        ("boundary", ("fixed", "periodic", "mirror")), ("steps", (0, 1, 7, 50)), ("norm", ("l2", "max")),
        ("check_every", (1, 3, 1000)), ("boundary_x-", ("fixed", "mirror-node", "flux", "exchange", "periodic")),
        ("boundary_y+", ("mirror", "flux-node", "exchange-node")), ("flux_x-", (0.0, -3.5, 1e300)),
        ("exchange_x-", (0.5, 1e300)), ("ambient_x-", (0, 1e-300)),
        ("rtol", (0.5, 1e-6, 0.0)), ("atol", (1e-3, 0.0, 100.0)), ("mine", ("text", 3, numpy.arange(9))),
        ("format", ("stencil 1",)),
        ("title", ("as it is",)), ("u0", (3,))))
    file.attrs[name] = rng.choice(choices)


def remove_attribute(rng, file):
    if len(file.attrs):
        del file.attrs[rng.choice(sorted(file.attrs))]


def set_field_attribute(rng, file):
    name = field_of(file)
    if name:
        value = any_value(rng)
        if rng.random() < 0.3 and isinstance(value, (int, float)):
            value = numpy.float64(value).astype("f4")
        file[name].attrs[rng.choice(FIELD_NAMES)] = value


def set_values(rng, file):
    """Single values that are special."""
    name = rng.choice([name for name in ("u", "temperature", "b", "f", "q", "fixed", "class", "insulated", "residual",
                                         "residual_step", "stencil/offsets",
                                         "stencil/weights", "x", "y") if isinstance(file.get(name), h5py.Dataset)]
                                         or [None])
    if name and file[name].ndim and file[name].size:
        place = tuple(rng.randrange(n) for n in file[name].shape)
        number = rng.choice((0, -0.0, 1, -1, 1e10, -1e-10, 5e-324, 1e-310, 1e155, 1e38, 1e300, -999, 2.0**53 + 2,
                             rng.random(), rng.random(),
                             float("nan"), float("inf")))
        if file[name].dtype.kind in "iu":
            number = rng.randrange(-3, 4)
        if file[name].dtype.kind in "fiu":
            with numpy.errstate(all="ignore"):
                file[name][place] = numpy.asarray(number).astype(file[name].dtype)


def set_dataset(rng, file):
    """A field or a source of another shape, type or layout; attributes get lost."""
    name = rng.choice(("u", "u", field_of(file) or "u", "b", "f", "q", "fixed", "class", "insulated", "residual", "residual_step"))
    shape = rng.choice(((11, 9), (11, 9), (11, 9), (9, 11), (6, 7, 8), (3, 3), (1, 1), (2, 50), (99,), (), (0, 9),
                        (2, 3, 3, 3), (5, 5, 5)))
    dtype = rng.choice(("f8", "f8", "f4", "f2", ">f8", "i1", "u1", "i4", ">i8", "u8", "g", "?", "c16", "S3"))
    options = {}
    if shape and 0 not in shape:
        options = rng.choice(({}, {}, {"chunks": True}, {"chunks": True, "compression": "gzip", "shuffle": True},
                              {"chunks": True, "maxshape": (None,) * len(shape)}, {"chunks": True, "fletcher32": True},
                              {"chunks": True, "compression": "lzf"}))
    if name in file:
        del file[name]
    with numpy.errstate(all="ignore"):
        data = numpy.asarray(numpy.random.default_rng(rng.randrange(1000)).random(shape) * 100).astype(dtype)
    dataset = file.create_dataset(name, data=data, **options)
    if rng.random() < 0.1 and options and dataset.maxshape[0] is None:
        dataset.resize(dataset.shape[0] + 3, 0)


def set_links(rng, file):
    name = rng.choice(("u", "b", "f", "q", "fixed", "class", "insulated", "mine", "stencil", "residual", "provenance", "x",
                       "temperature", "large"))
    if name in file:
        if rng.random() < 0.3:
            file.move(name, f"{name} of old")
        else:
            del file[name]
    choice = rng.randrange(9)
    if choice < 3:
        file[name] = h5py.SoftLink(rng.choice(("/u", f"/{name}", "nowhere", f"/{name} of old", "/", ".",
                                               "/mine/deeper/x1")))
    elif choice < 5:
        file[name] = h5py.ExternalLink(rng.choice(("base.h5", "p.h5", "nowhere.h5", ".", "")) or "x",
                                       rng.choice(("/u", "/", "/b")))
    elif choice == 5:
        file[name] = file
    elif choice == 6:
        file.create_group(name)
    elif choice == 7:
        file[name] = numpy.dtype("f8")


def add_own(rng, file):
    """Something of the user's own that a result has to carry on."""
    name = f"own {rng.randrange(3)}"
    if name in file:
        return
    choice = rng.randrange(8)
    if choice == 0:
        file[name] = ["one", "two"]
    elif choice == 1:
        file.create_dataset(name, (30, 30), "f4", chunks=(7, 7), maxshape=(None, 40), compression="gzip")[3:9] = 1
    elif choice == 2:
        file[name] = numpy.array([file.ref] * 3, h5py.ref_dtype)
    elif choice == 3:
        file.create_group(f"{name}/a/b/c").attrs["x"] = file.ref
        file[f"{name}/a/again"] = file[name]
    elif choice == 4:
        file[name] = h5py.SoftLink("/own 0")
    elif choice == 5:
        file.create_dataset(name, data=numpy.array([numpy.arange(4), numpy.arange(2)], object),
                            dtype=h5py.vlen_dtype("i4"))
    elif choice == 6:
        file[name] = values(11, 9, dtype=rng.choice(("f4", "f8", "c8", "?")))
    else:
        file.create_dataset(name, data=numpy.zeros(4, [("a", "i4", 3), ("b", "S5"), ("c", [("d", "f8")])]),
                            track_times=False)


def write_chunk(rng, file):
    """A chunk whose content is shorter or longer than it should be, cut short, or of other filters."""
    names = [name for name in ("u", "b", "f", "large", "q") if isinstance(file.get(name), h5py.Dataset)
             and file[name].chunks]
    if not names:
        return
    dataset = file[rng.choice(names)]
    count = dataset.id.get_num_chunks()
    if not count:
        return
    info = dataset.id.get_chunk_info(rng.randrange(count))
    size = int(numpy.prod(dataset.chunks)) * dataset.dtype.itemsize
    mask, old = dataset.id.read_direct_chunk(info.chunk_offset)
    plain = numpy.random.default_rng(1).bytes(rng.choice((size, size - 1, size + 1, size // 2, 2 * size, 0, 1, 10**6)))
    content = rng.choice((lambda: zlib.compress(plain, rng.randrange(10)), lambda: zlib.compress(bytes(len(plain))),
                          lambda: plain,
                          lambda: old[:rng.randrange(len(old))], lambda: old + b"more",
                          lambda: zlib.compress(plain) + old[-4:]))()
    dataset.id.write_direct_chunk(info.chunk_offset, content or b"\0", rng.choice((mask, mask, mask, 1, 2, 3, 7,
                                                                                   0xffffffff)))


GENTLE = (set_fitting_attribute, set_fitting_attribute, add_own, add_own, set_values, remove_attribute)
HARSH = (set_attribute, set_attribute, set_field_attribute, set_field_attribute, set_values, set_dataset, set_dataset,
         set_links,
         write_chunk, write_chunk, remove_attribute)


def change(rng, path, kinds, count):
    """Changes a file through h5py; what h5py refuses to do is left out."""
    done = []
    with h5py.File(path, "a") as file:
        for _ in range(count):
            function = rng.choice(kinds)
            try:
                function(rng, file)
                done.append(function.__name__)
            except (TypeError, ValueError, OSError, KeyError, RuntimeError, OverflowError):
                done.append(f"({function.__name__})")
    return done
