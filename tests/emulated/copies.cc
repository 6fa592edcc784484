/* Asynchronous copies: at the latest possible moment, or at once, drawn for each. */
#include <algorithm>

#include "machine.h"

namespace emulated {

/* An address need not be one of shared memory before it is used. */
uint32_t shared_address(const void *p) {
    return (uint32_t)(static_cast<const char *>(p) - shared_low(me().in_block()));
}
char *shared_pointer(uint32_t address) {
    if (address >= image_bytes())
        fail("%u is no address of shared memory", address);
    return shared_low(me().in_block()) + address;
}

static void make(const late_copy &c) {
    memcpy(c.to, c.from, c.bytes);
}
static void make_group(copy_group &group) {
    while (!group.empty()) {
        const size_t i = draw((uint32_t)group.size());
        make(group[i]);
        group[i] = std::move(group.back());
        group.pop_back();
    }
}

void copy_later(uint32_t to, const void *from, uint32_t bytes) {
    late_copy c = {shared_pointer(to), static_cast<const char *>(from), bytes, 0, {}};
    if (to % bytes != 0 || (uintptr_t)from % bytes != 0)
        fail("a copy of %u bytes from %p to address %u", bytes, from, to);
    if (once_in(4))
        make(c);
    else
        me().copies.push_back(std::move(c));
}
void end_group() {
    me().groups.push_back(std::move(me().copies));
    me().copies.clear();
}
void await_groups(int pending) {
    auto &groups = me().groups;
    for (; groups.size() > (size_t)pending; groups.pop_front())
        make_group(groups.front());
}

static void check_bulk(const void *memory, uint32_t shared, uint32_t bytes) {
    if (bytes == 0 || bytes % 16 != 0 || shared % 16 != 0 || (uintptr_t)memory % 16 != 0)
        fail("a bulk copy of %u bytes between %p and address %u", bytes, memory, shared);
}
void bulk_in(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier) {
    check_bulk(from, to, bytes);
    me().in_block().bulk.push_back({shared_pointer(to), static_cast<const char *>(from), bytes, barrier, {}});
}
bool make_bulk_copy(running_block &b) {
    if (b.bulk.empty())
        return false;
    const size_t i = draw((uint32_t)b.bulk.size());
    const late_copy c = std::move(b.bulk[i]);
    b.bulk[i] = std::move(b.bulk.back());
    b.bulk.pop_back();
    make(c);
    complete_bytes(b, c.barrier, c.bytes);
    return true;
}

void bulk_out(void *to, uint32_t from, uint32_t bytes) {
    check_bulk(to, from, bytes);
    me().bulk_copies.push_back({static_cast<char *>(to), shared_pointer(from), bytes, 0, {}});
}
void end_bulk_group() {
    me().bulk_groups.push_back(std::move(me().bulk_copies));
    me().bulk_copies.clear();
}
/* Reads what a copy reads; writes it, too, or not yet. */
static void read(late_copy &c) {
    if (c.from == nullptr)
        return;
    if (once_in(2))
        make(c);
    else
        c.read.assign(c.from, c.from + c.bytes);
    c.from = nullptr;
}
static void write(late_copy &c) {
    read(c);
    if (!c.read.empty())
        memcpy(c.to, c.read.data(), c.bytes);
    c.read.clear();
}
void await_bulk_read(int pending) {
    auto &groups = me().bulk_groups;
    for (size_t g = 0; g + (size_t)pending < groups.size(); g++)
        for (late_copy &c : groups[g])
            read(c);
}
static void write_all(fiber &f) {
    for (copy_group &group : f.bulk_groups)
        for (late_copy &c : group)
            write(c);
    f.bulk_groups.clear();
}
void await_bulk_groups() {
    write_all(me());
}

void finish_copies(fiber &f) {
    f.groups.push_back(std::move(f.copies));
    for (copy_group &group : f.groups)
        make_group(group);
    f.groups.clear();
    f.bulk_groups.push_back(std::move(f.bulk_copies));
    write_all(f);
    f.copies.clear(), f.bulk_copies.clear();
}

} // namespace emulated
