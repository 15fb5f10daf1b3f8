/* SPDX-License-Identifier: MIT
 * Files: what is written to and how, what is never replaced, which folders are made. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/stop.h"
#include "support/fork.h"

#define NOBODY 65534

static char folder[256];

static int make_folder(void **state)
{
    (void)state;
    const char *const parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/gemmsmith-base-XXXXXX", parent && *parent ? parent : "/tmp");
    return mkdtemp(folder) ? 0 : 1;
}

static const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int next;
    char *const path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const files[] = {"plain", "new/deep/file", "locked/old", "empty", "zero"};
    static const char *const folders[] = {"new/deep", "new", "locked", "target", "made/a/b", "made/a", "made", ""};
    chmod(in_folder("locked"), 0700);
    for (size_t i = 0; i < GS_COUNT(files); i++) unlink(in_folder(files[i]));
    int last = 0;
    for (size_t i = 0; i < GS_COUNT(folders); i++) last = rmdir(in_folder(folders[i]));
    return last;   /* the folder must be empty: nothing else was left behind */
}

static void assert_content(const char *path, const char *content)
{
    char *data;
    size_t size;
    assert_int_equal(gs_file_read(path, 1 << 20, &data, &size, NULL), GS_OK);
    assert_int_equal(size, strlen(content));
    assert_string_equal(data, content);
    free(data);
}

static void files_are_written_and_replaced(void **state)
{
    (void)state;
    const char *const plain = in_folder("plain");
    assert_false(gs_file_exists(plain));
    assert_int_equal(gs_file_write(plain, "one", 3, NULL), GS_OK);
    assert_content(plain, "one");
    assert_int_equal(gs_file_write(plain, "two!", 4, NULL), GS_OK);
    assert_content(plain, "two!");
    assert_int_equal(gs_file_write(in_folder("new/deep/file"), "down", 4, NULL), GS_ERROR_NOT_FOUND);   /* no folder is made */
    assert_false(gs_file_exists(in_folder("new")));
    assert_int_equal(gs_directory_add(in_folder("new/deep"), NULL), GS_ERROR_NOT_FOUND);
    assert_int_equal(gs_directory_add(in_folder("new/"), NULL), GS_OK);
    assert_int_equal(gs_directory_add(in_folder("new/deep"), NULL), GS_OK);
    assert_int_equal(gs_directory_add(in_folder("new/deep"), NULL), GS_OK);
    assert_int_equal(gs_file_write(in_folder("new/deep/file"), "down", 4, NULL), GS_OK);
    assert_content(in_folder("new/deep/file"), "down");
    assert_int_equal(gs_file_write(in_folder("empty"), "", 0, NULL), GS_OK);
    assert_content(in_folder("empty"), "");
}

/* A private file stays private, and new ones get what the user gives to new files. */
static void files_keep_their_rights(void **state)
{
    (void)state;
    struct stat status;
    const char *const plain = in_folder("plain");
    const mode_t before = umask(027);
    unlink(plain);
    assert_int_equal(gs_file_write(plain, "one", 3, NULL), GS_OK);
    umask(before);
    assert_int_equal(stat(plain, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_int_equal(chmod(plain, 0600), 0);
    if (geteuid() == 0) assert_int_equal(chown(plain, NOBODY, NOBODY), 0);
    assert_int_equal(gs_file_write(plain, "two", 3, NULL), GS_OK);
    assert_int_equal(stat(plain, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    if (geteuid() == 0) assert_true(status.st_uid == NOBODY && status.st_gid == NOBODY);
    assert_content(plain, "two");
    assert_int_equal(unlink(plain), 0);
}

static void a_store_is_not_replaced(void **state)
{
    (void)state;
    static const char store[] = "SQLite format 3\0 and what was measured";
    gs_error error = {0};
    FILE *file = fopen(in_folder("plain"), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(store, 1, sizeof store, file), sizeof store);
    fclose(file);
    assert_int_equal(gs_file_check_output(in_folder("plain"), NULL), GS_ERROR_IO);
    assert_int_equal(gs_file_write(in_folder("plain"), "new", 3, &error), GS_ERROR_IO);
    assert_non_null(strstr(error.text, "is a store"));
    assert_int_equal(gs_file_stream(&file, in_folder("plain"), false, NULL), GS_ERROR_IO);
    char *data;
    size_t size;
    assert_int_equal(gs_file_read(in_folder("plain"), 1 << 20, &data, &size, NULL), GS_OK);
    assert_int_equal(size, sizeof store);
    assert_memory_equal(data, store, size);
    free(data);
    assert_int_equal(unlink(in_folder("plain")), 0);
}

static void streams_and_device_nodes(void **state)
{
    (void)state;
    char text[16] = "";
    struct stat status;
    FILE *stream;
    const char *const pipe = in_folder("pipe"), *const plain = in_folder("plain"), *const null = in_folder("null");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const int end = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(end >= 0);
    assert_int_equal(gs_file_stream(&stream, pipe, false, NULL), GS_OK);
    fputs("two", stream);
    fclose(stream);
    assert_int_equal(read(end, text, sizeof text), 3);
    assert_memory_equal(text, "two", 3);
    close(end);
    assert_true(lstat(pipe, &status) == 0 && S_ISFIFO(status.st_mode));
    unlink(pipe);
    for (int i = 0; i < 3; i++) {   /* made, written on, emptied */
        assert_int_equal(gs_file_stream(&stream, plain, i == 1, NULL), GS_OK);
        fputs("one,", stream);
        fclose(stream);
        assert_content(plain, i == 1 ? "one,one," : "one,");
    }
    unlink(plain);
    if (mknod(null, S_IFCHR | 0666, makedev(1, 3)) != 0) return;   /* as /dev/null is, for root who could replace it */
    const int tried = open(null, O_WRONLY | O_CLOEXEC);   /* some folders are mounted without devices */
    if (tried >= 0) assert_int_equal(gs_file_write(null, "one", 3, NULL), GS_OK);
    if (tried >= 0) close(tried);
    assert_true(lstat(null, &status) == 0 && S_ISCHR(status.st_mode));
    unlink(null);
}

/* In a child: what is claimed stays claimed. */
static void standard_output_is_a_file_of_its_own(void **state)
{
    (void)state;
    fflush(NULL);
    const pid_t child = test_fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int out = open(in_folder("plain"), O_RDWR | O_CREAT | O_TRUNC, 0600), other = open(in_folder("zero"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (out < 0 || other < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(other, STDERR_FILENO) < 0) _exit(1);
        printf("before,");
        if (gs_file_write("-", "first,", 6, NULL) != GS_OK) _exit(2);
        if (gs_file_check_output("-", NULL) != GS_OK || gs_file_claim_output(NULL) != GS_OK) _exit(3);
        printf("aside");
        if (gs_file_write("-", "second", 6, NULL) != GS_OK) _exit(4);
        if (gs_file_claim_output(NULL) != GS_ERROR_ARGUMENT) _exit(5);   /* two files would be mixed */
        fflush(stdout);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_content(in_folder("plain"), "before,first,second");
    assert_content(in_folder("zero"), "aside");
    assert_false(gs_file_exists("-"));
}

/* Folders whose names nobody typed. */
static void own_folders_are_made(void **state)
{
    (void)state;
    char path[GS_PATH];
    setenv("XDG_DATA_HOME", in_folder("data"), 1);
    assert_true(gs_user_path(path, 'd', NULL, "tuned/a.tuned"));
    assert_int_equal(gs_file_need_folder(path, NULL), GS_ERROR_NOT_FOUND);
    assert_int_equal(gs_file_need_place(path, NULL), GS_OK);
    assert_false(gs_file_exists(in_folder("data")));
    assert_int_equal(gs_file_write(path, "one", 3, NULL), GS_OK);
    assert_content(path, "one");
    assert_int_equal(gs_file_make_folder(in_folder("data/gemmsmith-not/x"), NULL), GS_ERROR_NOT_FOUND);   /* only begins alike */
    unlink(path);
    rmdir(in_folder("data/gemmsmith/tuned"));
    rmdir(in_folder("data/gemmsmith"));
    assert_int_equal(rmdir(in_folder("data")), 0);
    unsetenv("XDG_DATA_HOME");
}

/* legend: path (below the test's folder unless absolute), what reading says, what writing says (GS_OK: not tried) */
static void files_fail_with_a_reason(void **state)
{
    (void)state;
    assert_int_equal(gs_file_write(in_folder("plain"), "old", 3, NULL), GS_OK);
    assert_int_equal(gs_directory_make(in_folder("target"), NULL), GS_OK);
    static const struct {
        const char *path;
        gs_status   read, write;
    } cases[] = {
        {"missing",           GS_ERROR_NOT_FOUND, GS_OK},
        {"plain/below",       GS_ERROR_IO,        GS_ERROR_IO},
        {"target",            GS_ERROR_IO,        GS_ERROR_IO},
        {"/dev/null",         GS_ERROR_IO,        GS_OK},
        {"/proc/gemmsmith/x", GS_ERROR_NOT_FOUND, GS_ERROR_NOT_FOUND},
        {"/dev/full/x",       GS_ERROR_IO,        GS_ERROR_IO},
    };
    for (size_t i = 0; i < GS_COUNT(cases); i++) {
        const char *const path = cases[i].path[0] == '/' ? cases[i].path : in_folder(cases[i].path);
        char *data = (char *)1;
        size_t size = 1;
        gs_error error = {0};
        const gs_status read = gs_file_read(path, 1 << 20, &data, &size, &error);
        if (read != cases[i].read) fail_msg("reading %s: %s", path, error.text);
        assert_null(data);
        assert_int_equal(size, 0);
        assert_non_null(strstr(error.text, path));
        if (cases[i].write == GS_OK) continue;
        const gs_status write = gs_file_write(path, "new", 3, &error);
        if (write != cases[i].write) fail_msg("writing %s: %d %s", path, (int)write, error.text);
    }
    assert_content(in_folder("plain"), "old");

    char *data;
    size_t size;
    gs_error error = {0};
    assert_int_equal(gs_file_read(in_folder("plain"), 2, &data, &size, &error), GS_ERROR_RANGE);
    assert_null(data);
    assert_int_equal(gs_file_read(in_folder("plain"), 3, &data, &size, NULL), GS_OK);
    free(data);

    char longest[2 * GS_PATH];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(gs_file_write(longest, "", 0, &error), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_directory_make(longest, NULL), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_directory_make("", NULL), GS_ERROR_ARGUMENT);
    assert_int_equal(gs_directory_make(in_folder("plain"), &error), GS_ERROR_IO);
    assert_int_equal(gs_directory_make(in_folder("made/a/b"), NULL), GS_OK);
    assert_int_equal(gs_directory_make(in_folder("made/a/b"), NULL), GS_OK);
}

/* As nobody where the tests are root's, who may write anywhere; from inside the folder, to which the way may be closed to nobody. */
static void read_only_folders_keep_the_old_file(void **state)
{
    (void)state;
    const uid_t self = geteuid();
    const int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gs_error error = {0};
    assert_int_equal(gs_directory_make(in_folder("locked"), NULL), GS_OK);
    assert_int_equal(chdir(in_folder("locked")), 0);
    if (self == 0) {
        assert_int_equal(chown(".", NOBODY, (gid_t)-1), 0);
        assert_int_equal(seteuid(NOBODY), 0);
    }
    const gs_status first = gs_file_write("old", "old", 3, NULL);
    const int guarded = chmod("old", 0400);
    const bool seen = gs_file_check_output("old", NULL) == GS_ERROR_IO && gs_file_check_kept("old", NULL) == GS_ERROR_IO && gs_file_check_output("new", NULL) == GS_OK;
    const gs_status kept = gs_file_write("old", "new", 3, &error);
    const bool told = strstr(error.text, "write-protected") != NULL;
    const int opened = chmod("old", 0600);
    const int closed = chmod(".", 0500);
    const bool before = gs_file_check_output("new", NULL) == GS_ERROR_IO && gs_file_check_kept("new", NULL) == GS_ERROR_IO && gs_file_check_kept("old", NULL) == GS_OK;
    const gs_status second = gs_file_write("old", "new", 3, &error);
    assert_int_equal(seteuid(self), 0);
    assert_int_equal(fchdir(back), 0);
    close(back);
    assert_int_equal(first, GS_OK);
    assert_true(guarded == 0 && opened == 0 && told);
    assert_true(seen && before);   /* said before the work, too */
    assert_int_equal(kept, GS_ERROR_IO);
    assert_int_equal(closed, 0);
    assert_int_equal(second, GS_ERROR_IO);
    assert_non_null(strstr(error.text, "old"));
    assert_content(in_folder("locked/old"), "old");
}

/* A write that breaks off, as on a full disk, leaves the old file and nothing else (the folder's removal proves that). */
static void broken_writes_leave_nothing(void **state)
{
    (void)state;
    static const char large[1 << 16];
    const char *const plain = in_folder("plain");
    gs_error error = {0};
    assert_int_equal(gs_file_write(plain, "old", 3, NULL), GS_OK);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, before.rlim_max}), 0);
    const gs_status status = gs_file_write(plain, large, sizeof large, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, GS_ERROR_DISK_FULL);
    assert_non_null(strstr(error.text, "cannot be written"));
    assert_content(plain, "old");
}

static void assert_kind(const char *path, mode_t kind)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode & S_IFMT, kind);
}

/* What is no regular file stays what it is: links are followed, pipes and devices are written to, the others are refused. */
static void only_regular_files_are_replaced(void **state)
{
    (void)state;
    char text[8] = "", link[300], fifo[300];
    gs_error error = {0};
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    assert_int_equal(gs_file_write(in_folder("plain"), "old", 3, NULL), GS_OK);
    assert_int_equal(symlink("plain", link), 0);
    assert_int_equal(gs_file_write(link, "new", 3, &error), GS_OK);
    assert_kind(link, S_IFLNK);
    assert_content(in_folder("plain"), "new");

    /* legend: where the link leads, what writing says */
    const struct {
        const char *target;
        gs_status   status;
    } links[] = {{"/dev/null", GS_OK}, {"/dev/full", GS_ERROR_DISK_FULL}, {"nowhere", GS_ERROR_IO}, {"link", GS_ERROR_IO}, {".", GS_ERROR_IO}, {"socket", GS_ERROR_IO}};
    const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s", in_folder("socket"));
    assert_int_equal(bind(listening, (struct sockaddr *)&name, sizeof name), 0);
    for (size_t i = 0; i < GS_COUNT(links); i++) {
        assert_int_equal(unlink(link), 0);
        assert_int_equal(symlink(links[i].target, link), 0);
        const gs_status status = gs_file_write(link, "new", 3, &error);
        if (status != links[i].status) fail_msg("a link to %s: %d %s", links[i].target, (int)status, error.text);
        const bool leads_on = strcmp(links[i].target, "nowhere") != 0 && strcmp(links[i].target, "link") != 0;
        const gs_status checked = gs_file_check_output(link, &error);
        assert_int_equal(checked, links[i].status == GS_ERROR_IO ? GS_ERROR_IO : GS_OK);
        assert_true(leads_on || strstr(error.text, "the symbolic link cannot be followed"));
        assert_kind(link, S_IFLNK);
    }
    assert_false(gs_file_exists(in_folder("nowhere")));
    assert_kind("/dev/null", S_IFCHR);
    assert_kind("/dev/full", S_IFCHR);
    assert_int_equal(gs_file_write(in_folder("socket"), "new", 3, &error), GS_ERROR_IO);
    assert_kind(in_folder("socket"), S_IFSOCK);
    assert_int_equal(unlink(in_folder("socket")), 0);
    close(listening);

    assert_int_equal(mkfifo(fifo, 0600), 0);
    const int reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(gs_file_write(fifo, "new", 3, &error), GS_OK);
    assert_int_equal(read(reader, text, sizeof text), 3);
    assert_string_equal(text, "new");
    close(reader);
    assert_kind(fifo, S_IFIFO);

    assert_int_equal(gs_file_need_regular(in_folder("nowhere"), &error), GS_OK);
    assert_int_equal(gs_file_need_regular(in_folder("plain"), &error), GS_OK);
    assert_int_equal(gs_file_need_regular(fifo, &error), GS_ERROR_IO);
    assert_int_equal(gs_file_need_regular(folder, &error), GS_ERROR_IO);
    assert_int_equal(gs_file_need_folder("x", &error), GS_OK);
    assert_int_equal(gs_file_need_folder("/x", &error), GS_OK);
    assert_int_equal(gs_file_need_folder(in_folder("nowhere"), &error), GS_OK);
    assert_int_equal(gs_file_need_folder(in_folder("nowhere/x"), &error), GS_ERROR_NOT_FOUND);
    assert_int_equal(gs_file_need_folder(in_folder("plain/x"), &error), GS_ERROR_IO);
    assert_int_equal(unlink(fifo), 0);
    assert_int_equal(unlink(link), 0);
}

static void user_paths_follow_the_environment(void **state)
{
    (void)state;
    char path[GS_PATH];
    setenv("GS_TEST_PATH", "/set/here", 1);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("XDG_DATA_HOME", "relative", 1);
    setenv("HOME", "/home/me", 1);
    assert_true(gs_user_path(path, 'c', "GS_TEST_PATH", NULL));
    assert_string_equal(path, "/set/here");
    assert_true(gs_user_path(path, 'c', "GS_TEST_PATH", "tail"));
    assert_string_equal(path, "/set/here/tail");
    setenv("GS_TEST_PATH", "", 1);
    assert_true(gs_user_path(path, 'c', "GS_TEST_PATH", "cubin"));
    assert_string_equal(path, "/xdg/gemmsmith/cubin");
    assert_true(gs_user_path(path, 'd', NULL, NULL));   /* a relative XDG path does not count */
    assert_string_equal(path, "/home/me/.local/share/gemmsmith");
    unsetenv("XDG_CACHE_HOME");
    assert_true(gs_user_path(path, 'c', NULL, NULL));
    assert_string_equal(path, "/home/me/.cache/gemmsmith");
    unsetenv("HOME");
    assert_false(gs_user_path(path, 'c', NULL, NULL));
    char longest[GS_PATH];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    setenv("GS_TEST_PATH", longest, 1);
    assert_true(gs_user_path(path, 'c', "GS_TEST_PATH", NULL));
    assert_false(gs_user_path(path, 'c', "GS_TEST_PATH", "more"));
}

/* Those that have a name before the suffix, in the order of their bytes. */
static void folders_are_listed(void **state)
{
    (void)state;
    static const char *const files[] = {"list/b.txt", "list/a.txt", "list/.txt", "list/.c.txt", "list/txt", "list/d.text", "list/t"};
    char **names;
    int count;
    assert_int_equal(gs_directory_make(in_folder("list"), NULL), GS_OK);
    for (size_t i = 0; i < GS_COUNT(files); i++) assert_int_equal(gs_file_write(in_folder(files[i]), "", 0, NULL), GS_OK);
    assert_int_equal(gs_folder_list(in_folder("list"), ".txt", &names, &count, NULL), GS_OK);
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "a.txt");
    assert_string_equal(names[1], "b.txt");
    gs_folder_list_free(&names, count);
    assert_int_equal(gs_folder_list(in_folder("list"), "txt", &names, &count, NULL), GS_OK);
    assert_int_equal(count, 2);   /* not the one that is nothing else */
    gs_folder_list_free(&names, count);
    assert_null(names);
    assert_int_equal(gs_folder_list(in_folder("list/none"), "txt", &names, &count, NULL), GS_ERROR_IO);
    for (size_t i = 0; i < GS_COUNT(files); i++) assert_int_equal(unlink(in_folder(files[i])), 0);
    assert_int_equal(rmdir(in_folder("list")), 0);
}

static void stop_by_signal(int number)
{
    (void)number;
    gs_stop_requested = 1;
}

/* A wait for a lock that a signal ends closes the lock's file. */
static void a_wait_for_a_lock_can_be_stopped(void **state)
{
    (void)state;
    const struct sigaction stop = {.sa_handler = stop_by_signal}, usual = {.sa_handler = SIG_DFL};
    const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0}};
    gs_error error = {0};
    int held, lock;
    assert_int_equal(gs_file_lock(in_folder("made.db"), &held, &error), GS_OK);
    const int next = dup(0);
    close(next);
    sigaction(SIGALRM, &stop, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    const gs_status status = gs_file_lock(in_folder("made.db"), &lock, &error);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &usual, NULL);
    gs_stop_requested = 0;
    assert_int_not_equal(status, GS_OK);
    assert_non_null(strstr(error.text, "cannot be locked"));
    assert_int_equal(dup(0), next);
    close(next);
    close(held);
    assert_int_equal(unlink(in_folder("made.db.lock")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_are_listed),
        cmocka_unit_test(a_wait_for_a_lock_can_be_stopped),
        cmocka_unit_test(files_are_written_and_replaced),
        cmocka_unit_test(files_keep_their_rights),
        cmocka_unit_test(a_store_is_not_replaced),
        cmocka_unit_test(streams_and_device_nodes),
        cmocka_unit_test(standard_output_is_a_file_of_its_own),
        cmocka_unit_test(own_folders_are_made),
        cmocka_unit_test(files_fail_with_a_reason),
        cmocka_unit_test(read_only_folders_keep_the_old_file),
        cmocka_unit_test(broken_writes_leave_nothing),
        cmocka_unit_test(only_regular_files_are_replaced),
        cmocka_unit_test(user_paths_follow_the_environment),
    };
    return cmocka_run_group_tests_name("base/file", tests, make_folder, remove_folder);
}
