/* SPDX-License-Identifier: MIT
 * The ledger's lines: {"ask":"<id>","in":..,"out":..,"seconds":..,"cost":..,"at":..} before a request, {"settle":"<id>",...,"http":..} after it. Writers lock
 * the file, first read what others have added, and truncate the file to its old size if a line cannot be written. */
#include "llm/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"

#define MOST_TOKENS 1e12   /* per line, so that the sums of a file of MOST_FILE bytes fit into int64_t */
#define MOST_FILE   (256ll << 20)

typedef struct open_ask {
    uint64_t id;
    gs_spent most;
} open_ask;

struct gs_ledger {
    gs_ledger_options options;
    char     *path;
    int       file;             /* -1: in memory only */
    off_t     read;             /* bytes read so far */
    int       lines;
    gs_spent  settled;          /* settled requests; its count includes the open ones */
    open_ask *open;
    int       open_count, open_capacity;
    pthread_mutex_t mutex;
};

static double cost_of(const gs_ledger *ledger, const gs_ledger_use *use)
{
    return ((double)use->tokens_in * ledger->options.price_in + (double)use->tokens_out * ledger->options.price_out) * 1e-6;
}

/* The caller holds the mutex. */
static gs_spent spent_by(const gs_ledger *ledger)
{
    gs_spent sum = ledger->settled;
    for (int i = 0; i < ledger->open_count; i++) {
        sum.tokens += ledger->open[i].most.tokens;
        sum.seconds += ledger->open[i].most.seconds;
        sum.cost += ledger->open[i].most.cost;
    }
    return sum;
}

gs_spent gs_ledger_spent(gs_ledger *ledger)
{
    pthread_mutex_lock(&ledger->mutex);
    const gs_spent sum = spent_by(ledger);
    pthread_mutex_unlock(&ledger->mutex);
    return sum;
}

/* ---- lines ---- */

static bool number_of(const json_t *object, const char *name, double limit, double *value)
{
    const json_t *const number = json_object_get(object, name);
    *value = json_number_value(number);
    return json_is_number(number) && *value >= 0 && *value <= limit;
}

static bool id_of(const json_t *value, uint64_t *id)
{
    const char *const text = json_string_value(value);
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
    *id = strtoull(text, NULL, 16);
    return true;
}

static int find_open(const gs_ledger *ledger, uint64_t id)
{
    for (int i = 0; i < ledger->open_count; i++)
        if (ledger->open[i].id == id) return i;
    return -1;
}

static bool grow(gs_ledger *ledger) { return gs_grow(&ledger->open, ledger->open_count, &ledger->open_capacity, sizeof *ledger->open); }

static gs_status take(gs_ledger *ledger, const json_t *line, gs_error *error)
{
    const json_t *const ask = json_object_get(line, "ask"), *const settle = json_object_get(line, "settle");
    uint64_t id;
    double in, out, seconds, cost;
    if (!ask == !settle || !id_of(ask ? ask : settle, &id)) return gs_fail(error, GS_ERROR_PARSE, "ask", "neither an ask nor a settle with an id of 16 hexadecimal digits");
    if (!number_of(line, "in", MOST_TOKENS, &in) || !number_of(line, "out", MOST_TOKENS, &out)) return gs_fail(error, GS_ERROR_PARSE, "in", "no numbers of tokens");
    if (!number_of(line, "seconds", 1e12, &seconds) || !number_of(line, "cost", 1e15, &cost)) return gs_fail(error, GS_ERROR_PARSE, "seconds", "no seconds or no cost");
    const gs_spent spent = {.tokens = (int64_t)in + (int64_t)out, .seconds = seconds, .cost = cost};
    const int at = find_open(ledger, id);
    if (ask) {
        if (at >= 0) return gs_fail(error, GS_ERROR_PARSE, "ask", "asked twice");
        if (!grow(ledger)) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the ledger");
        ledger->open[ledger->open_count++] = (open_ask){id, spent};
        ledger->settled.requests++;
        return GS_OK;
    }
    if (at < 0) return gs_fail(error, GS_ERROR_PARSE, "settle", "settles what was not asked");
    ledger->open[at] = ledger->open[--ledger->open_count];
    ledger->settled.tokens += spent.tokens;
    ledger->settled.seconds += spent.seconds;
    ledger->settled.cost += spent.cost;
    return GS_OK;
}

gs_status gs_ledger_take(gs_ledger *ledger, const char *line, size_t size, gs_error *error)
{
    json_error_t why;
    json_t *const root = json_loadb(line, size, JSON_REJECT_DUPLICATES, &why);
    if (!root && json_error_code(&why) == json_error_out_of_memory) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the ledger");
    if (!root) return gs_fail_at(error, GS_ERROR_PARSE, GS_MAX(1, GS_MIN(why.column, (int)size)), "line", "not JSON");
    const gs_status status = take(ledger, root, error);
    json_decref(root);
    return status;
}

/* ---- the file ---- */

/* Reads what others have added; the caller holds the lock. An unfinished line at the end is from a process that died while writing. */
static gs_status catch_up(gs_ledger *ledger, gs_error *error)
{
    struct stat about;
    if (fstat(ledger->file, &about) != 0) return gs_fail_errno(error, errno, ledger->path, "cannot read the ledger");
    if (about.st_size < ledger->read || about.st_size > MOST_FILE) return gs_fail(error, GS_ERROR_CORRUPT, "ledger", "was made shorter, or is too long");
    const size_t size = (size_t)(about.st_size - ledger->read);
    if (size == 0) return GS_OK;
    char *const text = malloc(size);
    if (!text) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the ledger");
    gs_status status = GS_OK;
    size_t have = 0;
    while (have < size && status == GS_OK) {
        const ssize_t got = pread(ledger->file, text + have, size - have, ledger->read + (off_t)have);
        if (got > 0) have += (size_t)got;
        else if (got == 0 || errno != EINTR) status = gs_fail_errno(error, got == 0 ? EIO : errno, ledger->path, "cannot read the ledger");
    }
    for (size_t at = 0; at < have && status == GS_OK;) {
        const char *const end = memchr(text + at, '\n', have - at);
        if (!end && text[at] != '{') {   /* not a ledger's line: this may be a foreign file, which must not be truncated */
            status = gs_fail(error, GS_ERROR_CORRUPT, "ledger", "%s is not a ledger", ledger->path);
            break;
        }
        if (!end) {
            if (ftruncate(ledger->file, ledger->read) != 0) status = gs_fail_errno(error, errno, ledger->path, "cannot mend the ledger");
            break;
        }
        const size_t length = (size_t)(end - text) - at;
        gs_error why = {0};
        const gs_status taken = gs_ledger_take(ledger, text + at, length, &why);
        char place[32];
        snprintf(place, sizeof place, "line %d", ledger->lines + 1);
        if (taken == GS_ERROR_PARSE) status = gs_fail(error, GS_ERROR_CORRUPT, place, "of the ledger: %s", why.text);
        else if (taken != GS_OK) status = gs_fail(error, taken, place, "%s", why.text);
        if (status != GS_OK) break;
        ledger->lines++;
        ledger->read += (off_t)length + 1;
        at += length + 1;
    }
    free(text);
    return status;
}

static gs_status append(gs_ledger *ledger, const gs_text *line, gs_error *error)
{
    for (size_t done = 0; done < line->size;) {
        const ssize_t put = pwrite(ledger->file, line->data + done, line->size - done, ledger->read + (off_t)done);
        if (put > 0) done += (size_t)put;
        else if (put == 0 || errno != EINTR) {
            const int why = put == 0 ? EIO : errno;
            if (ftruncate(ledger->file, ledger->read) != 0) return gs_fail_errno(error, errno, ledger->path, "cannot mend the ledger");
            return gs_fail_errno(error, why, ledger->path, "cannot write the ledger");
        }
    }
    if (fdatasync(ledger->file) != 0) {
        const int why = errno;
        if (ftruncate(ledger->file, ledger->read) != 0) return gs_fail_errno(error, errno, ledger->path, "cannot mend the ledger");
        return gs_fail_errno(error, why, ledger->path, "cannot write the ledger");
    }
    return GS_OK;
}

static void unlock(gs_ledger *ledger)
{
    if (ledger->file >= 0) flock(ledger->file, LOCK_UN);
    pthread_mutex_unlock(&ledger->mutex);
}

/* A mutex between threads, a file lock between processes. */
static gs_status lock(gs_ledger *ledger, gs_error *error)
{
    pthread_mutex_lock(&ledger->mutex);
    while (ledger->file >= 0 && flock(ledger->file, LOCK_EX) != 0)
        if (errno != EINTR) {
            const int why = errno;
            pthread_mutex_unlock(&ledger->mutex);
            return gs_fail_errno(error, why, ledger->path, "cannot lock the ledger");
        }
    const gs_status status = ledger->file >= 0 ? catch_up(ledger, error) : GS_OK;
    if (status != GS_OK) unlock(ledger);
    return status;
}

/* Writes a line, then reads it as any other process will; the caller holds the lock. */
static gs_status enter(gs_ledger *ledger, const char *kind, uint64_t id, const gs_ledger_use *use, int http, gs_error *error)
{
    gs_text line = {0};
    char name[20], date[GS_DATE_TEXT];
    snprintf(name, sizeof name, "%016" PRIx64, id);
    gs_json json = gs_json_into(&line);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, kind, name);
    gs_json_int(&json, "in", use->tokens_in);
    gs_json_int(&json, "out", use->tokens_out);
    gs_json_double(&json, "seconds", use->seconds);
    gs_json_double(&json, "cost", cost_of(ledger, use));
    if (http > 0) gs_json_int(&json, "http", http);
    gs_json_string(&json, "at", gs_date_format(date));
    gs_json_end(&json, '}');
    gs_text_add(&line, "\n");
    gs_status status = line.failed ? gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the ledger") : GS_OK;
    if (status == GS_OK && !grow(ledger)) status = gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the ledger");
    if (status == GS_OK && ledger->file >= 0) status = append(ledger, &line, error);
    if (status == GS_OK && ledger->file >= 0) status = catch_up(ledger, error);
    else if (status == GS_OK) status = gs_ledger_take(ledger, line.data, line.size - 1, error);
    gs_text_free(&line);
    return status;
}

/* ---- the budget ---- */

static gs_status refuse(gs_error *error, const char *budget, double spent, double most, double more)
{
    return gs_fail(error, GS_ERROR_RANGE, budget, "the budget of %.10g is used up: %.10g spent, the next request may take %.10g", most, spent, more);
}

static gs_status afford(const gs_ledger *ledger, gs_ledger_use *use, gs_error *error)
{
    const gs_spent *const most = &ledger->options.most;
    const gs_spent spent = spent_by(ledger);
    const double cost = cost_of(ledger, use);
    if (use->tokens_out == 0 && (most->tokens > 0 || most->cost > 0))
        return gs_fail(error, GS_ERROR_ARGUMENT, "max_tokens", "must bound the answer where there is a budget for tokens or cost");
    if (most->requests > 0 && spent.requests >= most->requests) return refuse(error, "requests", (double)spent.requests, (double)most->requests, 1);
    const int64_t tokens = use->tokens_in + use->tokens_out;
    if (most->tokens > 0 && tokens > most->tokens - spent.tokens) return refuse(error, "tokens", (double)spent.tokens, (double)most->tokens, (double)tokens);
    if (most->cost > 0 && cost > most->cost - spent.cost) return refuse(error, "cost", spent.cost, most->cost, cost);
    if (most->seconds > 0) {
        const double left = most->seconds - spent.seconds;
        if (!(left > 0)) return refuse(error, "seconds", spent.seconds, most->seconds, use->seconds);
        use->seconds = GS_MIN(use->seconds, left);
    }
    return GS_OK;
}

static gs_status check_use(const gs_ledger_use *use, gs_error *error)
{
    const bool right = use->tokens_in >= 0 && use->tokens_in <= (int64_t)1e12 && use->tokens_out >= 0 && use->tokens_out <= (int64_t)1e12 &&
                       use->seconds >= 0 && use->seconds <= 1e9;
    return right ? GS_OK : gs_fail(error, GS_ERROR_ARGUMENT, "use", "tokens or seconds that cannot be");
}

gs_status gs_ledger_ask(gs_ledger *ledger, gs_ledger_use *most, uint64_t *id, gs_error *error)
{
    GS_TRY(check_use(most, error));
    GS_TRY(lock(ledger, error));
    gs_status status = afford(ledger, most, error);
    if (status == GS_OK) {
        do *id = gs_random_entropy();
        while (find_open(ledger, *id) >= 0);
        status = enter(ledger, "ask", *id, most, 0, error);
    }
    unlock(ledger);
    return status;
}

gs_status gs_ledger_settle(gs_ledger *ledger, uint64_t id, const gs_ledger_use *took, int http, gs_error *error)
{
    GS_TRY(check_use(took, error));
    GS_TRY(lock(ledger, error));
    const gs_status status = find_open(ledger, id) >= 0 ? enter(ledger, "settle", id, took, http, error)
                                                        : gs_fail(error, GS_ERROR_ARGUMENT, "id", "settles what was not asked");
    unlock(ledger);
    return status;
}

/* ---- opening ---- */

static bool is_amount(double value) { return isfinite(value) && value >= 0 && value <= 1e12; }

gs_status gs_ledger_open(gs_ledger **out, const gs_ledger_options *options, gs_error *error)
{
    *out = NULL;
    const gs_spent *const most = &options->most;
    if (!is_amount(options->price_in) || !is_amount(options->price_out)) return gs_fail(error, GS_ERROR_ARGUMENT, "price", "must be a finite number, 0 or more");
    if (most->requests < 0 || most->tokens < 0 || !is_amount(most->seconds) || !is_amount(most->cost))
        return gs_fail(error, GS_ERROR_ARGUMENT, "budget", "must be a finite number, 0 (none) or more");
    if (most->cost > 0 && options->price_in == 0 && options->price_out == 0)
        return gs_fail(error, GS_ERROR_ARGUMENT, "price", "a budget for the cost needs the prices of a million tokens");
    gs_ledger *const ledger = calloc(1, sizeof *ledger);
    char *const path = options->path ? strdup(options->path) : NULL;
    if (!ledger || (options->path && !path)) {
        free(ledger);
        free(path);
        return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the ledger");
    }
    *ledger = (gs_ledger){.options = *options, .path = path, .file = -1};
    ledger->options.path = path;
    pthread_mutex_init(&ledger->mutex, NULL);
    gs_status status = GS_OK;
    if (path) status = gs_file_need_regular(path, error);
    if (path && status == GS_OK && (ledger->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0) status = gs_fail_errno(error, errno, path, "cannot open the ledger");
    if (status == GS_OK && (status = lock(ledger, error)) == GS_OK) unlock(ledger);
    *out = ledger;
    if (status != GS_OK) gs_ledger_close(out);
    return status;
}

void gs_ledger_close(gs_ledger **ledger)
{
    if (!*ledger) return;
    if ((*ledger)->file >= 0) close((*ledger)->file);
    pthread_mutex_destroy(&(*ledger)->mutex);
    free((*ledger)->open);
    free((*ledger)->path);
    free(*ledger);
    *ledger = NULL;
}
