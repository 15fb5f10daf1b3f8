/* SPDX-License-Identifier: MIT
 * A test that fails must not leave children behind: the runner waits until nobody holds its pipe any more. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "support/fork.h"

enum { PATIENCE_MS = 20000 };

/* The child is a test program that fails: it ends while its own child sleeps. */
static void children_end_with_the_program(void **state)
{
    int ends[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(ends), 0);
    const pid_t program = test_fork();
    if (program == 0) {
        const pid_t sleeper = test_fork();
        if (sleeper == 0) {
            if (write(ends[1], "x", 1) != 1) _exit(1);
            sleep(1000);
            _exit(0);
        }
        if (read(ends[0], &byte, 1) != 1) _exit(1);   /* it sleeps by now */
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(program, NULL, 0), program);
    struct pollfd look = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&look, 1, PATIENCE_MS), 1);   /* the end of the pipe: nobody holds it */
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(children_end_with_the_program)};
    return cmocka_run_group_tests_name("base/forking", tests, NULL, NULL);
}
