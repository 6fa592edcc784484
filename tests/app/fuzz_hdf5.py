"""What HDF5 files are made of, as far as damage that is aimed has to know: where structures begin and end, which fields
they have, and the checksums that have to be mended behind a change. The layout is that of the HDF5 File Format
Specification, version 3.0."""
import struct

MASK = 0xffffffff
SUPERBLOCK = b"\x89HDF\r\n\x1a\n"
PLAIN = {b"TREE": 512, b"SNOD": 328, b"HEAP": 32,
         b"GCOL": 512}  # without a checksum, and how much of them is of interest
SUMMED = (b"OHDR", b"OCHK", b"FRHP", b"FHDB", b"FHIB", b"BTHD", b"BTIN", b"BTLF", b"FAHD", b"FADB", b"EAHD", b"EAIB",
          b"EADB", b"EASB", b"FSHD", b"FSSE", b"SMTB", b"SMLI")
CONTINUATION = 0x10

# Where fields of structures are, as (offset, bytes).
FIELDS = {
    b"TREE": [(4, 1), (5, 1), (6, 2), (8, 8), (16, 8), (24, 4), (28, 4), (24, 8), (32, 8), (40, 8), (48, 8), (56, 8),
              (64, 8)],
    b"SNOD": [(4, 1), (6, 2), (8, 8), (16, 8), (24, 4), (32, 8), (40, 8), (48, 8), (56, 8)],
    b"HEAP": [(4, 1), (8, 8), (16, 8), (24, 8)],
    b"GCOL": [(4, 1), (8, 8), (16, 2), (18, 2), (24, 8), (32, 8)],
    b"OHDR": [(4, 1), (5, 1), (6, 1), (6, 2), (22, 1), (22, 2)],
    b"OCHK": [(4, 1), (5, 2), (7, 1)],
    b"FRHP": [(4, 1), (5, 2), (7, 2), (9, 1), (10, 4), (14, 8), (22, 8), (30, 8), (38, 8), (46, 8), (54, 8), (62, 8),
              (70, 8), (78, 8), (86, 8), (94, 8), (102, 8), (110, 2), (112, 8), (120, 8), (128, 2), (130, 2), (132, 8),
              (140, 2)],
    b"FHDB": [(4, 1), (5, 8), (13, 4), (21, 1), (22, 2), (24, 4), (28, 8)],
    b"FHIB": [(4, 1), (5, 8), (13, 4), (17, 8), (25, 8)],
    b"BTHD": [(4, 1), (5, 1), (6, 4), (10, 2), (12, 2), (14, 1), (15, 1), (16, 8), (24, 2), (26, 8)],
    b"BTLF": [(4, 1), (5, 1), (6, 8), (14, 8), (22, 8)],
    b"FAHD": [(4, 1), (5, 1), (6, 1), (7, 1), (8, 8), (16, 8)],
    b"FADB": [(4, 1), (5, 1), (6, 8), (14, 8), (22, 8), (30, 8)],
    b"EAHD": [(4, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1), (10, 1), (11, 1), (12, 8), (20, 8), (28, 8), (36, 8),
              (44, 8), (52, 8), (60, 8)],
    b"EAIB": [(4, 1), (5, 1), (6, 8), (14, 8), (22, 8), (30, 8)],
    "superblock 0": [(8, 1), (9, 1), (10, 1), (12, 1), (13, 1), (14, 1), (16, 2), (18, 2), (20, 4), (24, 8), (32, 8),
                     (40, 8),
                     (48, 8), (56, 8), (64, 8), (72, 4), (80, 8), (88, 8)],
    "superblock 2": [(8, 1), (9, 1), (10, 1), (11, 1), (12, 8), (20, 8), (28, 8), (36, 8)],
    "header 1": [(0, 1), (2, 2), (4, 4), (8, 4)],
}
# The same within the messages of object headers, by their type; all versions together.
MESSAGES = {
    0x01: [(0, 1), (1, 1), (2, 1), (3, 1), (4, 8), (8, 8), (12, 8), (16, 8), (20, 8), (24, 8), (32, 8)],  # dataspace
    0x02: [(0, 1), (1, 1), (2, 8), (10, 8), (18, 8)],                                                     # link info
    0x03: [(0, 1), (1, 1), (2, 1), (3, 1), (4, 4), (8, 2), (10, 2), (12, 1), (13, 1), (14, 1), (15, 1), (16, 4)],
    # datatype
    0x04: [(0, 4), (4, 8)],
    # old fill value
    0x05: [(0, 1), (1, 1), (2, 1), (3, 1), (2, 4), (4, 4), (6, 8), (8, 8)],                               # fill value
    0x06: [(0, 1), (1, 1), (2, 1), (2, 8), (3, 1), (4, 8), (10, 8)],                                      # link
    0x07: [(0, 1), (4, 2), (6, 2), (8, 8), (16, 8), (24, 8), (32, 8)],
    # external files
    0x08: [(0, 1), (1, 1), (2, 1), (3, 1), (2, 2), (4, 1), (2, 8), (3, 8), (4, 4), (8, 4), (10, 8), (11, 8), (11, 4),
           (15, 4),
           (19, 4)],                                                                                      # layout
    0x0a: [(0, 1), (1, 1), (2, 2), (4, 2)],                                                               # group info
    0x0b: [(0, 1), (1, 1), (2, 2), (4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 4), (24, 4)],  # filters
    0x0c: [(0, 1), (1, 1), (2, 2), (4, 2), (6, 2), (8, 1), (8, 8), (16, 8), (16, 1), (20, 4), (24, 8), (32, 8)],
    # attribute
    0x0e: [(0, 8)],
    # modification time
    0x0f: [(0, 1), (1, 1), (2, 8)],
    # shared messages
    0x10: [(0, 8), (8, 8)],                                                                               # continuation
    0x11: [(0, 8), (8, 8)],                                                                               # symbol table
    0x12: [(0, 1), (4, 4)],
    # modification time
    0x15: [(0, 1), (1, 1), (2, 2), (4, 8), (12, 8), (20, 8)],
    # attribute info
    0x16: [(0, 1), (1, 4)],
    # reference count
}


def rotated(value, bits):
    return (value << bits | value >> (32 - bits)) & MASK


def lookup3(data):
    """The checksum of HDF5's structures: Bob Jenkins's lookup3, hashlittle() with an initial value of 0."""
    length = len(data)
    a = b = c = (0xdeadbeef + length) & MASK
    if length == 0:
        return c
    words = struct.unpack(f"<{-(-length // 12) * 3}I", data + bytes(-length % 12))
    for at in range(0, len(words) - 3, 3):
        a, b, c = (a + words[at]) & MASK, (b + words[at + 1]) & MASK, (c + words[at + 2]) & MASK
        a = (a - c & MASK) ^ rotated(c, 4)
        c = c + b & MASK
        b = (b - a & MASK) ^ rotated(a, 6)
        a = a + c & MASK
        c = (c - b & MASK) ^ rotated(b, 8)
        b = b + a & MASK
        a = (a - c & MASK) ^ rotated(c, 16)
        c = c + b & MASK
        b = (b - a & MASK) ^ rotated(a, 19)
        a = a + c & MASK
        c = (c - b & MASK) ^ rotated(b, 4)
        b = b + a & MASK
    a, b, c = (a + words[-3]) & MASK, (b + words[-2]) & MASK, (c + words[-1]) & MASK
    c = (c ^ b) - rotated(b, 14) & MASK
    a = (a ^ c) - rotated(c, 11) & MASK
    b = (b ^ a) - rotated(a, 25) & MASK
    c = (c ^ b) - rotated(b, 16) & MASK
    a = (a ^ c) - rotated(c, 4) & MASK
    b = (b ^ a) - rotated(a, 14) & MASK
    return (c ^ b) - rotated(b, 24) & MASK


def number(data, at, size):
    return int.from_bytes(data[at:at + size], "little")


class Structure:
    """A stretch of a file: its kind, where it begins and ends, where its checksum stands (None: it has none), and its
    fields as places and sizes within the file."""

    def __init__(self, kind, start, end, checksum=None, fields=()):
        self.kind, self.start, self.end, self.checksum = kind, start, end, checksum
        self.fields = [(start + at, size) for at, size in fields if start + at + size <= end]

    def mend(self, data):
        if self.checksum is None or self.checksum + 4 > len(data):
            return
        if self.kind == b"FHDB":  # the checksum stands within what it protects, as zeros
            data[self.checksum:self.checksum + 4] = bytes(4)
            content = data[self.start:self.end]
        else:
            content = data[self.start:self.checksum]
        data[self.checksum:self.checksum + 4] = struct.pack("<I", lookup3(bytes(content)))
        if self.kind == b"OHDR":  # where its size was changed, the checksum is looked for elsewhere, too
            start, size = header_2(data, self.start)
            if start + size != self.checksum and start + size + 4 <= len(data):
                data[start + size:start + size + 4] = struct.pack("<I", lookup3(bytes(data[self.start:start + size])))


def header_2(data, at):
    """Where the messages of an object header of version 2 begin, and how many bytes they take."""
    flags = data[at + 5]
    start = at + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
    size = 1 << (flags & 3)
    return start + size, number(data, start, size)


def messages(data, start, end, version, ordered):
    """Type, place of the header, place of the content and size of each message of a stretch of an object header."""
    head = 8 if version == 1 else 6 if ordered else 4
    while start + head <= end:
        wide = 2 if version == 1 else 1
        kind, size = number(data, start, wide), number(data, start + wide, 2)
        if start + head + size > end:
            return
        yield kind, start, start + head, size
        start += head + size


def header(data, at):
    """The structures of the object header at this place: its stretches and their messages."""
    version = 2 if data[at:at + 4] == b"OHDR" else 1
    ordered = version == 2 and bool(data[at + 5] & 4)
    if version == 2:
        start, size = header_2(data, at)
        found = [Structure(b"OHDR", at, start + size + 4, start + size, FIELDS[b"OHDR"])]
    else:
        start, size = at + 16, number(data, at + 8, 4)
        found = [Structure("header 1", at, at + 16, None, FIELDS["header 1"])]
    stretches = [(start, start + size)]
    for start, end in stretches:
        for kind, place, content, size in messages(data, start, end, version, ordered):
            fields = [(place - content, 2 if version == 1 else 1), (place - content + (2 if version == 1 else 1), 2),
                      (place - content + (4 if version == 1 else 3), 1)]
            message = Structure(f"message {kind}", place, content + size)
            fields += MESSAGES.get(kind, [(0, 1), (1, 1), (0, 8)])
            message.fields = [(content + offset, width) for offset, width in fields
                              if offset + width <= size]
            found.append(message)
            if kind == CONTINUATION and len(stretches) < 20:
                more, length = number(data, content, 8), number(data, content + 8, 8)
                if version == 2:
                    found.append(Structure(b"OCHK", more, more + length, more + length - 4, FIELDS[b"OCHK"]))
                    stretches.append((more + 4, more + length - 4))
                else:
                    stretches.append((more, more + length))
    return found


def summed(data, kind, at):
    """The structure with a checksum that begins here, or None: its end is where the checksum is right."""
    if kind == b"FHDB":
        for size in (512, 1024, 2048, 4096):
            for place in (at + 17, at + 18, at + 21):
                content = bytearray(data[at:at + size])
                content[place - at:place - at + 4] = bytes(4)
                if len(content) == size and lookup3(bytes(content)) == number(data, place, 4):
                    return Structure(kind, at, at + size, place, FIELDS[kind])
        return None
    for length in range(8, min(700, len(data) - at - 3)):
        if lookup3(data[at:at + length]) == number(data, at + length, 4):
            fields = FIELDS.get(kind, [(4, 1), (5, 1), (5, 8), (13, 8)])
            return Structure(kind, at, at + length + 4, at + length, fields)
    return None


def structures(data, objects):
    """The structures of an undamaged file, whose objects have their headers at these places."""
    if data[8] < 2:
        found = [Structure("superblock 0", 0, 96, None, FIELDS["superblock 0"])]
    else:
        found = [Structure("superblock 2", 0, 48, 44, FIELDS["superblock 2"])]
    for place in sorted(objects):
        found += header(data, place)
    known = {structure.start for structure in found}
    for kind in (*PLAIN, *SUMMED):
        at = data.find(kind)
        while at >= 0:
            if kind in PLAIN:
                found.append(Structure(kind, at, min(len(data), at + PLAIN[kind]), None, FIELDS[kind]))
            elif at not in known and kind not in (b"OHDR", b"OCHK"):
                structure = summed(data, kind, at)
                if structure:
                    found.append(structure)
            at = data.find(kind, at + 1)
    return found


def end_of_file(data, size):
    """Writes the size of the file into its superblock, so that one that was cut short is taken for whole."""
    place = 40 if data[8] < 2 else 28
    data[place:place + 8] = struct.pack("<Q", size)


# Damage to bytes. Each function changes a bytearray, given a random.Random and the structures.

def interesting(rng, size, old, data, found):
    """A number for a field of so many bytes."""
    top = 1 << 8 * size
    numbers = [0, 1, 2, 3, 4, 7, 8, top - 1, top - 2, top // 2, top // 2 - 1, 0x7f, 0x80, old + 1, old - 1, 2 * old,
               old // 2, old ^ 1,
               old ^ 1 << rng.randrange(8 * size), rng.randrange(top), rng.randrange(256)]
    if size >= 2:
        numbers += [0x100, 0x7fff, 0x8000, 1000, len(data)]
    if size >= 4:
        numbers += [0x10000, 0x7fffffff, 0x80000000, 10**6, 10**9, len(data) - 1, len(data) + 1]
    if size == 8:
        numbers += [structure.start for structure in rng.sample(found, min(6, len(found)))]
        numbers += [1 << 32, (1 << 32) + 1, (1 << 61), (1 << 61) + 1, 1 << 63, old + 8, old - 8, old + len(data)]
    return rng.choice(numbers) % top


def flip(rng, data, found):
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def flip_in_structure(rng, data, found):
    structure = rng.choice(found)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(structure.start, structure.end)
        if at < len(data):
            data[at] ^= 1 << rng.randrange(8)


def set_aligned(rng, data, found):
    for _ in range(rng.choice((1, 1, 2, 4))):
        size = rng.choice((1, 2, 4, 8))
        at = rng.randrange(len(data) // size) * size
        data[at:at + size] = interesting(rng, size, number(data, at, size), data, found).to_bytes(size, "little")


def set_field(rng, data, found):
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        structure = rng.choice([structure for structure in found if structure.fields])
        at, size = rng.choice(structure.fields)
        data[at:at + size] = interesting(rng, size, number(data, at, size), data, found).to_bytes(size, "little")


def set_anywhere_in_structure(rng, data, found):
    structure = rng.choice(found)
    size = min(rng.choice((1, 2, 4, 8)), structure.end - structure.start)
    at = rng.randrange(structure.start, structure.end - size + 1)
    data[at:at + size] = interesting(rng, size, number(data, at, size), data, found).to_bytes(size, "little")


def swap(rng, data, found):
    size = min(rng.choice((1, 4, 8, 16, 64, 256)), len(data) // 3)
    one, two = rng.randrange(len(data) - size), rng.randrange(len(data) - size)
    if rng.random() < 0.5:
        data[one:one + size], data[two:two + size] = data[two:two + size], data[one:one + size]
    else:
        data[one:one + size] = data[two:two + size]


def copy_structure(rng, data, found):
    """Puts one structure in the place of another one, or exchanges them."""
    one, two = rng.choice(found), rng.choice(found)
    size = min(one.end - one.start, two.end - two.start)
    first = data[one.start:one.start + size]
    data[one.start:one.start + size] = data[two.start:two.start + size]
    if rng.random() < 0.5:
        data[two.start:two.start + size] = first


def fill(rng, data, found):
    size = min(rng.choice((4, 16, 64, 512)), len(data) // 2)
    at = rng.randrange(len(data) - size)
    data[at:at + size] = bytes([rng.choice((0, 0xff, rng.randrange(256)))]) * size


def cut(rng, data, found):
    size = rng.choice((rng.randrange(len(data)), len(data) - rng.randrange(1, 64), rng.choice(found).start,
                       rng.choice(found).end))
    if rng.random() < 0.6:
        end_of_file(data, size)
    del data[max(size, 1):]


def extend(rng, data, found):
    size = rng.choice((1, 8, 511, 4096))
    data += bytes(size) if rng.random() < 0.5 else rng.randbytes(size)
    if rng.random() < 0.5:
        end_of_file(data, len(data))


def insert(rng, data, found):
    """Moves everything behind a place."""
    at, size = rng.randrange(len(data)), rng.choice((1, 8, 64))
    if rng.random() < 0.5:
        data[at:at] = rng.randbytes(size)
    else:
        del data[at:at + size]


BYTES = (flip, flip_in_structure, flip_in_structure, set_aligned, set_field, set_field, set_field, set_field, set_field,
         set_anywhere_in_structure, set_anywhere_in_structure, swap, copy_structure, fill, cut, extend, insert)


def damage(rng, content, found):
    """A damaged copy of a file. Mostly its checksums are mended."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if len(data) >= 600:
            rng.choice(BYTES)(rng, data, found)
    if rng.random() < 0.9 and len(data) >= 48:
        for structure in found:
            stretch = slice(structure.start, structure.end)
            if data[stretch] != content[stretch] or structure.kind == "superblock 2":
                structure.mend(data)
    return bytes(data)


def damage_data(rng, content, found):
    """A copy with other values: only bytes outside of all structures change, so that many of these files are
    accepted."""
    data, taken = bytearray(content), bytearray(len(content))
    for structure in found:
        taken[structure.start:structure.end] = b"\1" * (min(structure.end, len(taken)) - structure.start)
    for _ in range(rng.choice((1, 4, 40))):
        at = rng.randrange(len(data))
        if not taken[at]:
            data[at] = rng.choice((data[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
    return bytes(data)
