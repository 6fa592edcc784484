/* Structures as JSON and back: every type of a member, and what is refused, by name. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "records/record.h"

typedef struct leaf {
    int number;
    char text[4];
} leaf;

typedef struct tree {
    char text[8];
    const char *name;
    int64_t large;
    int limited, chosen, pair[2], late[2];
    double real, rate;
    bool flag;
    int leaf_count, word_count;
    leaf *leaf;
    char word[2][4];
} tree;

static json_t *write_double(const stencil_member *m, const void *record) {
    (void)m;
    return json_integer(2 * ((const tree *)record)->limited);
}

static const char *const choices[] = {"no", "yes", NULL};
static const stencil_member leaf_members[] = {
    {"number", STENCIL_MEMBER(INTEGER, leaf, number)}, {"text", STENCIL_MEMBER(TEXT, leaf, text)}, {NULL}};
static const stencil_member inner_members[] = {{"rate", STENCIL_MEMBER(RATE, tree, rate)}, {NULL}};
static const stencil_member members[] = {
    {"text", STENCIL_MEMBER(TEXT, tree, text), .or_null = true},
    {"name", STENCIL_MEMBER(NAME, tree, name)},
    {"large", STENCIL_MEMBER(INTEGER, tree, large)},
    {"limited", STENCIL_MEMBER(INTEGER, tree, limited), .minimum = 1, .maximum = 9},
    {"twice", STENCIL_MEMBER_DERIVED, .write = write_double},
    {"chosen", STENCIL_MEMBER(CHOICE, tree, chosen), .names = choices},
    {"pair", STENCIL_MEMBER(INTEGER, tree, pair), .count = 2},
    {"late", STENCIL_MEMBER(INTEGER, tree, late), .count = 2, .newer = true},
    {"real", STENCIL_MEMBER(REAL, tree, real)},
    {"inner", STENCIL_MEMBER_OBJECT, .members = inner_members},
    {"flag", STENCIL_MEMBER(FLAG, tree, flag)},
    {"leaves", STENCIL_MEMBER(LIST, tree, leaf), .members = leaf_members, .element = sizeof(leaf),
     .list_count = offsetof(tree, leaf_count), .owned = true},
    {"words", STENCIL_MEMBER(LIST, tree, word), .element = 4, .list_count = offsetof(tree, word_count)},
    {NULL},
};

static leaf leaves[] = {{7, "a"}, {-8, "bcd"}};
static const tree oak = {.name = "oak",
                         .large = INT64_MIN,
                         .limited = 9,
                         .chosen = 1,
                         .pair = {3, -4},
                         .real = NAN,
                         .flag = true,
                         .leaf_count = 2,
                         .word_count = 1,
                         .leaf = leaves,
                         .word = {"e"}};

static void round_trip(void **state) {
    (void)state;
    const char *text =
        "{\"text\":null,\"name\":\"oak\",\"large\":-9223372036854775808,\"limited\":9,\"twice\":18,"
        "\"chosen\":\"yes\",\"pair\":[3,-4],\"late\":[0,0],\"real\":null,\"inner\":{\"rate\":null},\"flag\":"
        "true,"
        "\"leaves\":[{\"number\":7,\"text\":\"a\"},{\"number\":-8,\"text\":\"bcd\"}],\"words\":[\"e\"]}";
    json_t *object = stencil_record_write(json_object(), members, &oak);
    char *written = json_dumps(object, JSON_COMPACT);
    assert_string_equal(written, text);
    tree read = {.text = "x", .rate = 5};
    assert_int_equal(stencil_record_read(object, members, &read), STENCIL_OK);
    assert_true(isnan(read.real) && read.rate == 0 && read.text[0] == '\0' && read.flag);
    json_t *again = stencil_record_write(json_object(), members, &read);
    assert_true(json_equal(object, again));
    free(read.leaf);
    free(written);
    json_decref(object);
    json_decref(again);
}

/* What an older file lacks stays as it was. */
static void older(void **state) {
    (void)state;
    json_t *object = stencil_record_write(json_object(), members, &oak);
    tree read = {.late = {5, 6}};
    json_object_del(object, "late");
    assert_int_equal(stencil_record_read(object, members, &read), STENCIL_OK);
    assert_true(read.late[0] == 5 && read.late[1] == 6);
    free(read.leaf);
    json_decref(object);
}

/* Replaces a member by what `json` says ("": removes it); the message has to hold `message`. */
static void refused(const char *key, const char *json, const char *message) {
    json_t *object = stencil_record_write(json_object(), members, &oak);
    tree read = {.flag = false};
    if (json[0] == '\0')
        json_object_del(object, key);
    else
        json_object_set_new(object, key, json_loads(json, JSON_DECODE_ANY, NULL));
    assert_int_equal(stencil_record_read(object, members, &read), STENCIL_BAD_DATA);
    if (strstr(stencil_error_last()->message, message) == NULL)
        fail_msg("'%s' is not in '%s'", message, stencil_error_last()->message);
    free(read.leaf);
    json_decref(object);
}

static void refusals(void **state) {
    (void)state;
    for (const stencil_member *m = members; m->name != NULL; m++)
        if (m->type != STENCIL_MEMBER_DERIVED && !m->newer)
            refused(m->name, "", m->name);
    refused("text", "\"12345678\"", "\"text\" has more than 7 characters");
    refused("text", "\"a\\u001b[2J\"", "\"text\" holds control characters");
    refused("name", "null", "\"name\" is not a string");
    refused("large", "1.5", "\"large\" is not a whole number");
    refused("limited", "0", "\"limited\" is not a whole number of 1 to 9");
    refused("limited", "10", "\"limited\" is not a whole number of 1 to 9");
    refused("chosen", "\"perhaps\"", "\"chosen\" is not a known name");
    refused("chosen", "1", "\"chosen\" is not a string");
    refused("pair", "3", "\"pair\" is not an array");
    refused("pair", "[3]", "\"pair\" is not a whole number");
    refused("pair", "[3, 5000000000]", "\"pair\" is not a whole number of -2147483648 to 2147483647");
    refused("late", "null", "\"late\" is not an array");
    refused("real", "\"1\"", "\"real\" is not a number");
    refused("inner", "{}", "\"rate\" is missing");
    refused("flag", "null", "\"flag\" is not true or false");
    refused("leaves", "[3]", "\"leaves\" holds what is not an object");
    refused("leaves", "[{\"number\": 1, \"text\": \"long\"}]", "\"text\" has more than 3 characters");
    refused("words", "[\"a\", \"b\", \"c\"]", "\"words\" has more than 2 members");
    refused("words", "[\"a\", 1]", "\"words\" holds what is not a string");
    refused("words", "[\"abcd\"]", "\"words\" has more than 3 characters");
    assert_int_equal(stencil_record_read(NULL, members, &(tree){.flag = false}), STENCIL_BAD_DATA);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(older),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
