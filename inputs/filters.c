/* Undoes filters of chunks: "HDF5 File Format Specification", IV.A.2.l (Filter Pipeline); Fletcher's checksum
 * of 1982 over 16-bit words whose first byte is the higher one. HDF5 1.10 takes the output of a stream for a
 * whole chunk, and where it is short reads beyond its end. */
#include "inputs/filters.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHECKSUM_BYTES = 4 };

const char stencil_filters_no_memory[] = "memory allocation failed";

static const char too_few[] = "a packed chunk holds fewer bytes than a chunk has";

bool stencil_filters_read(stencil_filters *f, hid_t create, size_t elements, size_t element) {
    *f = (stencil_filters){.count = H5Pget_nfilters(create), .elements = elements, .element = element};
    if (f->count < 1 || f->count > STENCIL_FILTERS_MAX)
        return false;
    for (int i = 0; i < f->count; i++) {
        size_t values = STENCIL_FILTER_VALUES;
        unsigned flags, config;
        f->id[i] = H5Pget_filter2(create, (unsigned)i, &flags, &values, f->value[i], 0, NULL, &config);
        if (f->id[i] != H5Z_FILTER_DEFLATE && f->id[i] != H5Z_FILTER_SHUFFLE &&
            f->id[i] != H5Z_FILTER_FLETCHER32)
            f->others |= UINT32_C(1) << i;
        for (int k = 0; k < i; k++)
            if (f->id[k] == f->id[i])
                return false;
    }
    return true;
}

size_t stencil_filters_packed_most(const stencil_filters *f) {
    const size_t whole = f->elements * f->element;
    return whole + whole / 8 + 4096;
}

static uint32_t number_at(const unsigned char *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Inflates to exactly `wanted` bytes, or (not exact) at most that many. Returns NULL, or what is wrong. */
static const char *inflate_bytes(stencil_bytes *b, size_t wanted, bool exact) {
    uLongf count = (uLongf)wanted + 1;
    unsigned char *out = malloc(count);
    const int failed = out == NULL ? Z_MEM_ERROR : uncompress(out, &count, b->at, (uLong)b->count);
    if (failed == Z_MEM_ERROR) {
        free(out);
        return stencil_filters_no_memory;
    }
    free(b->at);
    *b = (stencil_bytes){out, count};
    return count > wanted            ? "a packed chunk holds more bytes than a chunk has"
           : failed != Z_OK          ? "inflate() failed"
           : exact && count < wanted ? too_few
                                     : NULL;
}

static uint32_t fletcher32(const unsigned char *at, size_t count) {
    enum { WORDS = 360 }; /* words whose sums fit into 32 bits */
    uint32_t one = 0, two = 0;
    for (size_t i = 0; i < count;) {
        for (int k = 0; k < WORDS && i < count; k++, i += 2) {
            one += (uint32_t)at[i] << 8 | (i + 1 < count ? at[i + 1] : 0U);
            two += one;
        }
        one = (one & 0xffff) + (one >> 16);
        two = (two & 0xffff) + (two >> 16);
    }
    one = (one & 0xffff) + (one >> 16);
    two = (two & 0xffff) + (two >> 16);
    return two << 16 | one;
}

/* Checks and removes a Fletcher32 checksum, in either byte order of each half, since some HDF5 versions
 * swapped the bytes. */
static const char *check_sum(stencil_bytes *b) {
    if (b->count < CHECKSUM_BYTES)
        return "a checksum is missing";
    b->count -= CHECKSUM_BYTES;
    const unsigned char *end = b->at + b->count;
    const uint32_t sum = fletcher32(b->at, b->count), given = number_at(end),
                   swapped = (sum & 0xff00ff) << 8 | (sum >> 8 & 0xff00ff);
    return given == sum || given == swapped ? NULL : "data error detected by Fletcher32 checksum";
}

/* Undoes the shuffle filter, which stores the k-th bytes of all elements together, for each k. */
static inline void gather(unsigned char *restrict out, const unsigned char *restrict in, size_t count,
                          size_t size) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < size; k++)
            out[i * size + k] = in[k * count + i];
}

static const char *unshuffle(stencil_bytes *b, size_t size) {
    const size_t count = size > 0 ? b->count / size : 0;
    if (size < 2 || count < 2)
        return NULL;
    unsigned char *out = malloc(b->count);
    if (out == NULL)
        return stencil_filters_no_memory;
    if (size == 8)
        gather(out, b->at, count, 8);
    else if (size == 4)
        gather(out, b->at, count, 4);
    else
        gather(out, b->at, count, size);
    memcpy(out + count * size, b->at + count * size, b->count - count * size);
    free(b->at);
    b->at = out;
    return NULL;
}

/* Tells whether a stream that only HDF5 can decode is long enough for a whole chunk, since HDF5 reads beyond
 * the end of shorter ones; true for third-party filters. H5Zscaleoffset.c: a head of 21 bytes, which begins
 * with the bits per number, then the numbers; H5Znbit.c: the bits of the numbers; H5Zszip.c: the unpacked
 * size, then the packed bytes. */
static bool is_enough(const stencil_filters *f, int i, const stencil_bytes *b) {
    enum { HEAD = 21, SCALE_INTEGER = 2, SZIP_HEAD = 4 };
    const unsigned *value = f->value[i];
    const uint64_t whole = (uint64_t)f->elements * f->element;
    if (f->id[i] == H5Z_FILTER_SCALEOFFSET) {
        const uint64_t bits = b->count >= HEAD ? number_at(b->at) : 0;
        if (value[0] == SCALE_INTEGER &&
            value[1] == 8 * f->element) /* integers of full width are stored unpacked */
            return b->count >= whole;
        return b->count >= HEAD && value[2] == f->elements && value[4] == f->element &&
               bits <= 8 * f->element && b->count >= HEAD + (value[2] * bits + 7) / 8;
    }
    if (f->id[i] == H5Z_FILTER_NBIT)
        return value[2] == f->elements &&
               b->count >= (value[1] != 0 ? whole : ((uint64_t)value[2] * value[6] + 7) / 8);
    if (f->id[i] == H5Z_FILTER_SZIP)
        return b->count >= SZIP_HEAD && number_at(b->at) == whole;
    return true;
}

/* Returns how many bytes of a chunk gzip has packed: its cells, and a checksum that an earlier filter added.
 * Growth by other filters is not known. */
static size_t given_to_gzip(const stencil_filters *f, uint32_t skipped, int i) {
    size_t bytes = f->elements * f->element;
    for (int k = 0; k < i; k++)
        bytes += f->id[k] == H5Z_FILTER_FLETCHER32 && (skipped >> k & 1) == 0 ? CHECKSUM_BYTES : 0;
    return bytes;
}

const char *stencil_filters_undo(const stencil_filters *f, uint32_t skipped, stencil_bytes *b) {
    const bool exact = (f->others & ~skipped) == 0;
    const char *fault = NULL;
    for (int i = f->count - 1; i >= 0 && fault == NULL; i--) {
        if ((skipped >> i & 1) != 0)
            continue;
        if ((f->others >> i & 1) != 0)
            return is_enough(f, i, b) ? NULL : too_few;
        fault = f->id[i] == H5Z_FILTER_FLETCHER32 ? check_sum(b)
                : f->id[i] == H5Z_FILTER_SHUFFLE
                    ? unshuffle(b, f->value[i][0])
                    : inflate_bytes(b, exact ? given_to_gzip(f, skipped, i) : stencil_filters_packed_most(f),
                                    exact);
    }
    if (fault == NULL && b->count != f->elements * f->element)
        fault = "a chunk has another size than it should have";
    return fault;
}

bool stencil_filters_are_checked(const stencil_filters *f) {
    bool checked = true;
    for (int i = 0; i < f->count; i++)
        checked = checked && ((f->others >> i & 1) == 0 || f->id[i] == H5Z_FILTER_SCALEOFFSET ||
                              f->id[i] == H5Z_FILTER_NBIT);
    return checked;
}
