/* SPDX-License-Identifier: MIT
 * A hash table of counters of fixed size, with open addressing. A slot is filled under the lock and published by storing its hash. Its problem never changes afterwards, so readers
 * need no lock. The file and `written` are protected by the lock. */
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

enum { SLOTS = 2 * GS_RECORD_PROBLEMS, NAMES = 100, DOUBLING = 64, PARTS = 8 };

typedef struct slot {
    _Atomic uint64_t hash;      /* 0: empty */
    _Atomic uint64_t total;
    uint64_t         written;   /* the part of total that is in the file */
    const char      *via;
    gs_problem       problem;
} slot;

struct gs_recorder {
    pthread_mutex_t lock;
    gs_recorder    *next;       /* in the list of all recorders */
    char            folder[GS_PATH];
    int             file;       /* -1: not made yet */
    off_t           size;       /* bytes of complete lines in the file */
    bool            failed, full;   /* logged already */
    bool            held;       /* locked by before_fork */
    int             count;
    int             used[GS_RECORD_PROBLEMS];
    slot            slots[SLOTS];
};

/* All recorders, for fork() and the end of the process. A signal handler may call either while its thread holds a lock: error-checking mutexes fail then instead of deadlocking. */
static pthread_mutex_t list_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static bool            list_held;   /* locked by before_fork */
static gs_recorder    *list;

/* ---- the file ---- */

static void make_name(const gs_recorder *recorder, int number, char path[GS_PATH])
{
    char host[64] = "", date[32] = "", again[16] = "";
    const int64_t now = gs_date_ms();
    const time_t seconds = (time_t)(now / 1000);
    struct tm utc;
    if (gethostname(host, sizeof host - 1) != 0 || !host[0]) snprintf(host, sizeof host, "host");
    for (char *at = host; *at; at++)
        if (strchr("/ \t\n", *at)) *at = '_';
    if (gmtime_r(&seconds, &utc)) strftime(date, sizeof date, "%Y%m%dT%H%M%S", &utc);
    if (number > 0) snprintf(again, sizeof again, "-%d", number);
    snprintf(path, GS_PATH, "%s/recorded-%s-%ld-%s%03dZ%s.txt", recorder->folder, host, (long)getpid(), date, (int)(now % 1000), again);
}

/* Appends complete lines, or nothing: a partial write (disk full) is truncated again. */
static bool add(gs_recorder *recorder, const char *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t got = write(recorder->file, data + done, size - done);
        if (got >= 0) {
            done += (size_t)got;
        } else if (errno != EINTR) {
            const int number = errno;
            if (done > 0 && ftruncate(recorder->file, recorder->size) != 0) recorder->size += (off_t)done;   /* the partial line stays */
            errno = number;
            return false;
        }
    }
    recorder->size += (off_t)size;
    return true;
}

static bool make_file(gs_recorder *recorder)
{
    static const char magic[] = GS_RECORD_MAGIC "\n";
    char path[GS_PATH];
    if (recorder->file >= 0) return true;
    for (int i = 0; i < NAMES && recorder->file < 0; i++) {
        make_name(recorder, i, path);
        recorder->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (recorder->file < 0 && errno != EEXIST) return false;
    }
    recorder->size = 0;
    if (recorder->file >= 0 && add(recorder, magic, sizeof magic - 1)) return true;
    const int number = errno;
    if (recorder->file >= 0) {
        close(recorder->file);
        unlink(path);
    }
    recorder->file = -1;
    errno = number;
    return false;
}

/* Writes the counts of these slots that are not in the file yet. */
static void write_slots(gs_recorder *recorder, slot *const *slots, int count)
{
    enum { LINE = GS_PROBLEM_TEXT + 128 };
    char lines[8 * LINE], text[GS_PROBLEM_TEXT];
    uint64_t totals[8];
    for (int first = 0; first < count; first += 8) {
        const int some = GS_MIN(8, count - first);
        size_t size = 0;
        for (int i = 0; i < some; i++) {
            const slot *const s = slots[first + i];
            totals[i] = atomic_load_explicit(&s->total, memory_order_relaxed);
            if (totals[i] > s->written)
                size += (size_t)snprintf(lines + size, LINE, "%llu\t%.64s\t%s\n", (unsigned long long)(totals[i] - s->written), s->via, gs_problem_format(&s->problem, text));
        }
        if (size == 0) continue;
        if (!make_file(recorder) || !add(recorder, lines, size)) {
            if (!recorder->failed) gs_log(GS_LOG_WARNING, "record: %s: cannot be written: %s", recorder->folder, strerror(errno));
            recorder->failed = true;
            return;
        }
        for (int i = 0; i < some; i++) slots[first + i]->written = totals[i];
    }
}

static void flush_locked(gs_recorder *recorder)
{
    slot *some[64];
    int count = 0;
    for (int i = 0; i < recorder->count; i++) {
        some[count++] = &recorder->slots[recorder->used[i]];
        if (count < (int)GS_COUNT(some) && i + 1 < recorder->count) continue;
        write_slots(recorder, some, count);
        count = 0;
    }
}

void gs_recorder_flush(gs_recorder *recorder)
{
    if (!recorder || pthread_mutex_lock(&recorder->lock) != 0) return;
    flush_locked(recorder);
    pthread_mutex_unlock(&recorder->lock);
}

/* ---- counting ---- */

/* The slot of a problem, or the empty slot where it would go; NULL if the table is full and lacks it. */
static slot *find(gs_recorder *recorder, uint64_t hash, const gs_problem *problem, const char *via, bool *there)
{
    for (uint32_t i = 0, at = (uint32_t)hash % SLOTS; i < SLOTS; i++, at = (at + 1) % SLOTS) {
        slot *const s = &recorder->slots[at];
        const uint64_t have = atomic_load_explicit(&s->hash, memory_order_acquire);
        *there = have == hash && s->via == via && memcmp(&s->problem, problem, sizeof *problem) == 0;
        if (*there || have == 0) return s;
    }
    return NULL;
}

/* Whether a count is to be written at this total: at powers of two, and from 64 on also at eighths of them. */
static bool is_due(uint64_t total)
{
    const uint64_t power = 1ull << (63 - __builtin_clzll(total));
    return total % (total < DOUBLING ? power : power / PARTS) == 0;
}

static void count_known(gs_recorder *recorder, slot *s)
{
    const uint64_t total = atomic_fetch_add_explicit(&s->total, 1, memory_order_relaxed) + 1;
    if (!is_due(total) || pthread_mutex_trylock(&recorder->lock) != 0) return;   /* another thread is writing: at the next step */
    write_slots(recorder, &s, 1);
    pthread_mutex_unlock(&recorder->lock);
}

static void count_new(gs_recorder *recorder, uint64_t hash, const gs_problem *problem, const char *via)
{
    bool there;
    if (pthread_mutex_lock(&recorder->lock) != 0) return;
    slot *s = find(recorder, hash, problem, via, &there);
    if (!there && recorder->count == GS_RECORD_PROBLEMS) {
        if (!recorder->full) gs_log(GS_LOG_WARNING, "record: more than %d different problems: the others are not recorded", GS_RECORD_PROBLEMS);
        recorder->full = true;
    } else if (there) {   /* another thread has added it meanwhile */
        atomic_fetch_add_explicit(&s->total, 1, memory_order_relaxed);
    } else {
        s->problem = *problem;
        s->via = via;
        s->written = 0;
        atomic_store_explicit(&s->total, 1, memory_order_relaxed);
        atomic_store_explicit(&s->hash, hash, memory_order_release);
        recorder->used[recorder->count++] = (int)(s - recorder->slots);
        write_slots(recorder, &s, 1);
    }
    pthread_mutex_unlock(&recorder->lock);
}

void gs_recorder_count(gs_recorder *recorder, const gs_problem *asked, const char *via)
{
    if (!recorder || asked->size != sizeof *asked) return;
    gs_problem problem = *asked;
    problem.alpha = 1;
    problem.beta = asked->beta != 0 ? 1.0f : 0.0f;
    const uint64_t mixed = gs_hash64(&problem, sizeof problem) ^ (uint64_t)(uintptr_t)via * 0x9e3779b97f4a7c15ull, hash = mixed ? mixed : 1;
    bool there;
    slot *const s = find(recorder, hash, &problem, via, &there);
    if (there) count_known(recorder, s);
    else count_new(recorder, hash, &problem, via);
}

/* ---- creation, fork and end ---- */

static void make_lock(pthread_mutex_t *lock)
{
    static const pthread_mutex_t fresh = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    *lock = fresh;
}

static void before_fork(void)
{
    list_held = pthread_mutex_lock(&list_lock) == 0;
    for (gs_recorder *r = list; r; r = r->next) r->held = pthread_mutex_lock(&r->lock) == 0;
}

static void in_parent(void)
{
    for (gs_recorder *r = list; r; r = r->next)
        if (r->held) pthread_mutex_unlock(&r->lock);
    if (list_held) pthread_mutex_unlock(&list_lock);
}

/* The counts and the file so far belong to the parent. The locks may be held by threads that do not exist in the child, so they are initialised again. */
static void in_child(void)
{
    for (gs_recorder *r = list; r; r = r->next) {
        for (int i = 0; i < r->count; i++) atomic_store_explicit(&r->slots[r->used[i]].hash, 0, memory_order_relaxed);
        r->count = 0;
        if (r->file >= 0) close(r->file);
        r->file = -1;
        r->failed = r->full = false;
        make_lock(&r->lock);
    }
    make_lock(&list_lock);
}

static void watch_forks(void) { pthread_atfork(before_fork, in_parent, in_child); }

__attribute__((destructor)) static void at_end(void)
{
    if (pthread_mutex_lock(&list_lock) != 0) return;
    for (gs_recorder *r = list; r; r = r->next) gs_recorder_flush(r);
    pthread_mutex_unlock(&list_lock);
}

gs_status gs_recorder_open(gs_recorder **out, const char *folder, gs_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char *const full = realpath(folder, NULL);   /* absolute: the program may change its working directory */
    *out = NULL;
    if (!full) return gs_fail(error, errno == ENOENT ? GS_ERROR_NOT_FOUND : GS_ERROR_IO, NULL, "%s: %s", folder, errno == ENOENT ? "no such folder" : strerror(errno));
    gs_status status = GS_OK;
    gs_recorder *recorder = NULL;
    if (strlen(full) + 160 > GS_PATH) status = gs_fail(error, GS_ERROR_IO, NULL, "%s: the path is too long", folder);
    else if (access(full, W_OK | X_OK) != 0) status = gs_fail_errno(error, errno, folder, "cannot be written to");
    else if (!(recorder = calloc(1, sizeof *recorder))) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory to record with");
    if (status == GS_OK) {
        char entry[GS_PATH];
        snprintf(entry, sizeof entry, "%s/recorded", full);
        status = gs_file_need_folder(entry, error);   /* fails if full is not a folder */
    }
    if (status == GS_OK) {
        snprintf(recorder->folder, sizeof recorder->folder, "%s", full);
        recorder->file = -1;
        make_lock(&recorder->lock);
        pthread_once(&once, watch_forks);
        pthread_mutex_lock(&list_lock);
        recorder->next = list;
        list = recorder;
        pthread_mutex_unlock(&list_lock);
        *out = recorder;
    } else {
        free(recorder);
    }
    free(full);
    return status;
}

void gs_recorder_close(gs_recorder **recorder)
{
    gs_recorder *const r = *recorder;
    if (!r) return;
    gs_recorder_flush(r);
    pthread_mutex_lock(&list_lock);
    gs_recorder **at = &list;
    while (*at && *at != r) at = &(*at)->next;
    if (*at) *at = r->next;
    pthread_mutex_unlock(&list_lock);
    if (r->file >= 0) close(r->file);
    pthread_mutex_destroy(&r->lock);
    free(r);
    *recorder = NULL;
}

static gs_recorder *environment;

static void open_environment(void)
{
    const char *const folder = getenv("GEMMSMITH_RECORD");
    gs_error error;
    if (!folder || !*folder) return;
    if (gs_recorder_open(&environment, folder, &error) != GS_OK) gs_log(GS_LOG_WARNING, "GEMMSMITH_RECORD: %s; nothing is recorded", error.text);
}

gs_recorder *gs_recorder_of_environment(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_environment);
    return environment;
}
