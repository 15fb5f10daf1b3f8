/* SPDX-License-Identifier: MIT
 * Which verdict each status gives, and which verdicts mean that a candidate failed or that its results are wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "verdict/verdict.h"

static gs_verdict_code wanted(gs_status status)
{
    static const struct { gs_status status; gs_verdict_code code; } known[] = {
        {GS_OK, GS_VERDICT_PASS},
        {GS_ERROR_UNSUPPORTED, GS_VERDICT_UNSUPPORTED},  {GS_ERROR_ALIGNMENT, GS_VERDICT_UNSUPPORTED},
        {GS_ERROR_COMPILE, GS_VERDICT_COMPILE},          {GS_ERROR_SPILL, GS_VERDICT_SPILL},           {GS_ERROR_SERIALIZED, GS_VERDICT_SERIALIZED},
        {GS_ERROR_FORBIDDEN, GS_VERDICT_FORBIDDEN},      {GS_ERROR_ARGUMENT, GS_VERDICT_LAUNCH},       {GS_ERROR_PARSE, GS_VERDICT_LAUNCH},
        {GS_ERROR_RANGE, GS_VERDICT_LAUNCH},             {GS_ERROR_NOT_FOUND, GS_VERDICT_LAUNCH},      {GS_ERROR_LIBRARY, GS_VERDICT_LAUNCH},
        {GS_ERROR_LAUNCH, GS_VERDICT_LAUNCH},            {GS_ERROR_FAULT, GS_VERDICT_FAULT},           {GS_ERROR_WORKER_DIED, GS_VERDICT_FAULT},
        {GS_ERROR_TIMEOUT, GS_VERDICT_HANG},             {GS_ERROR_WORKER_HUNG, GS_VERDICT_HANG},      {GS_ERROR_DEVICE_MEMORY, GS_VERDICT_MEMORY},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].status == status) return known[i].code;
    return GS_VERDICT_UNKNOWN;   /* a failure of the machine, not of the candidate */
}

static void of_each_status(void **state)
{
    (void)state;
    static const gs_status all[] = {
#define GS_STATUS(id, number, text) GS_##id,
#include <gemmsmith/status.def>
#undef GS_STATUS
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (gs_verdict_from_status(all[i]) != wanted(all[i])) fail_msg("%s: %s", gs_status_name(all[i]), gs_verdict_name(gs_verdict_from_status(all[i])));
}

static void what_they_say(void **state)
{
    (void)state;
    for (int code = 0; code < GS_VERDICTS; code++) {
        const gs_verdict_code verdict = (gs_verdict_code)code;
        assert_int_equal(gs_verdict_failed(verdict), code != GS_VERDICT_UNKNOWN && code != GS_VERDICT_PASS ? 1 : 0);
        assert_int_equal(gs_verdict_passed(gs_verdict_name(verdict)), code == GS_VERDICT_PASS);
        if (code != GS_VERDICT_UNKNOWN) assert_string_equal(gs_verdict_word(verdict), gs_verdict_name(verdict));
    }
    static const gs_verdict_code wrong[] = {GS_VERDICT_EXACT, GS_VERDICT_ACCUMULATOR, GS_VERDICT_CANCELLATION, GS_VERDICT_INDEX, GS_VERDICT_TOLERANCE,
                                            GS_VERDICT_BIAS, GS_VERDICT_EDGE, GS_VERDICT_SPECIAL, GS_VERDICT_UNWRITTEN};
    for (int code = 0; code < GS_VERDICTS; code++) {
        bool among = false;
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) among = among || wrong[i] == (gs_verdict_code)code;
        assert_int_equal(gs_verdict_of_results((gs_verdict_code)code), among);
    }
    assert_string_equal(gs_verdict_text(GS_VERDICT_HANG), "did not finish in time");
    assert_string_equal(gs_verdict_text((gs_verdict_code)GS_VERDICTS), "unknown verdict");
    assert_false(gs_verdict_passed(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_each_status), cmocka_unit_test(what_they_say)};
    return cmocka_run_group_tests_name("verdict/verdicts", tests, NULL, NULL);
}
