/* SPDX-License-Identifier: MIT
 * Proves that what a worker says of its device arrives as it was, that statuses have their names on the wire, and what a field is that is not there, or of another type. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "leaks.h"
#include "worker/wire.h"

static void a_device_arrives_as_it_was(void **state)
{
    (void)state;
    gs_caps sent = {.memory_bytes = (size_t)141 << 30, .emulated = true}, got;
    int number = 1;
    snprintf(sent.name, sizeof sent.name, "a \"name\"");
    snprintf(sent.slug, sizeof sent.slug, "a-slug");
    snprintf(sent.uuid, sizeof sent.uuid, "a-uuid");
    snprintf(sent.target, sizeof sent.target, "sm_90a");
#define INT(field)  sent.field = number++;
#define REAL(field) sent.field = number++ + 0.1;
    GS_CAPS_INTS(INT)
    GS_CAPS_REALS(REAL)
    gs_text text = {0};
    gs_json json = gs_json_into(&text);
    gs_json_begin(&json, NULL, '{');
    gs_caps_put(&json, &sent);
    gs_json_end(&json, '}');
    json_t *const object = json_loads(gs_text_string(&text), 0, NULL);
    memset(&got, 0xff, sizeof got);
    gs_caps_take(object, &got);
    assert_string_equal(got.name, sent.name);
    assert_string_equal(got.slug, sent.slug);
    assert_string_equal(got.uuid, sent.uuid);
    assert_string_equal(got.target, sent.target);
#define SAME(field) assert_true(got.field == sent.field);
    GS_CAPS_INTS(SAME)
    GS_CAPS_REALS(SAME)
    assert_true(got.memory_bytes == sent.memory_bytes && got.emulated);
    json_decref(object);
    gs_text_free(&text);
    gs_caps_take(NULL, &got);   /* a worker that said nothing of it */
    assert_true(got.sms == 0 && got.memory_bytes == 0 && !got.emulated && got.name[0] == '\0');
}

static void statuses_have_their_names(void **state)
{
    (void)state;
#define GS_STATUS(id, number, text) assert_int_equal(gs_status_find(gs_status_name((gs_status)(number))), number);
#include <gemmsmith/status.def>
#undef GS_STATUS
    assert_int_equal(gs_status_find("GS_NO_SUCH"), GS_ERROR_DEVICE);
    assert_int_equal(gs_status_find(""), GS_ERROR_DEVICE);
}

static void fields_of_a_reply(void **state)
{
    (void)state;
    json_t *const o = json_loads("{\"int\":9007199254740993,\"real\":1.5,\"true\":true,\"false\":false,\"text\":\"a\",\"null\":null}", 0, NULL);
    assert_true(gs_reply_int(o, "int", 7) == INT64_C(9007199254740993) && gs_reply_int(o, "real", 7) == 7 && gs_reply_int(o, "text", 7) == 7 && gs_reply_int(o, "none", 7) == 7 && gs_reply_int(o, "null", 7) == 7);
    assert_true(gs_reply_number(o, "real", 7) == 1.5 && gs_reply_number(o, "int", 7) == 9007199254740992.0 && gs_reply_number(o, "true", 7) == 7 && gs_reply_number(o, "none", 7) == 7);
    assert_true(gs_reply_bool(o, "true", false) && !gs_reply_bool(o, "false", true) && gs_reply_bool(o, "none", true) && !gs_reply_bool(o, "int", false) && gs_reply_bool(o, "int", true));
    assert_string_equal(gs_reply_string(o, "text", "b"), "a");
    assert_string_equal(gs_reply_string(o, "int", "b"), "b");
    assert_string_equal(gs_reply_string(o, "none", "b"), "b");
    assert_null(gs_reply_string(o, "null", NULL));
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_device_arrives_as_it_was), cmocka_unit_test(statuses_have_their_names), cmocka_unit_test(fields_of_a_reply)};
    return run_without_leaks("worker/wire", tests, GS_COUNT(tests));
}
