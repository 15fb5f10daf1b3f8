/* SPDX-License-Identifier: MIT
 * The store: an SQLite file (in WAL mode) or a PostgreSQL database that records everything that was tried: sessions, candidates, verdicts, measurements,
 * winners.
 * Safe for several processes; every call is one transaction, so a killed run loses nothing that a call reported as stored.
 * A gs_store belongs to one thread, and to the process that opened it: do not use it after fork.
 * The schema is versioned: an older store is migrated when it is opened for writing, a newer one is refused (STORE_VERSION). */
#ifndef GS_STORE_STORE_H
#define GS_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

#include "schedule/caps.h"

typedef struct gs_store gs_store;

/* Every path argument may also be a connection string ("postgresql://user@host/database", "host=... dbname=..."): then the store is that PostgreSQL database,
 * which many machines may share; an empty database gets the tables. A call whose connection is lost reconnects, for up to a minute, and takes effect exactly
 * once. IO: the server cannot be reached; UNSUPPORTED: built without libpq. */
bool gs_store_is_server(const char *path);   /* path is a connection string */
bool gs_store_may_be(const char *path);      /* path is a connection string or an existing file */

/* NULL path: $GEMMSMITH_STORE, else store.db in the user's data directory. The file is created if there is none. Codes, also of the calls below: STORE (also:
 * another program's database), STORE_CORRUPT (the message says what to do), STORE_BUSY (another process held a lock for 10 s), STORE_VERSION, DISK_FULL, IO,
 * MEMORY; ARGUMENT for a session without gs_store_begin, and the codes of gs_problem_parse for a problem's text, which is stored in its canonical form. A
 * call that fails has stored nothing, and the store remains usable. */
gs_status   gs_store_open(gs_store **out, const char *path, gs_error *error);

/* Opens for reading: creates, converts and writes nothing. NOT_FOUND: there is no file; STORE also: the file is empty. An older version is converted in a
 * copy in memory, and that is read. Calls that write fail (IO). */
gs_status   gs_store_open_read(gs_store **out, const char *path, gs_error *error);
void        gs_store_close(gs_store **store);

/* Accepts a file that another program, or a person with sqlite3, changed on purpose: computes the page checksums again; *accepted: how many did not match.
 * STORE_CORRUPT: its content fails SQLite's integrity check. */
gs_status   gs_store_seal(const char *path, int64_t *accepted, gs_error *error);

/* Reads everything. STORE_CORRUPT: names what is damaged. UNSUPPORTED for a server, here and in gs_store_seal: it has its own checksums. */
gs_status   gs_store_check(gs_store *store, int64_t *pages, gs_error *error);
const char *gs_store_path(const gs_store *store);   /* for a server: the connection string, without a password */

/* One run of a program; later rows refer to it. */
typedef struct gs_session {
    int64_t     id;                    /* filled by gs_store_begin */
    const char *command, *version, *commit;
    const char *device;                /* caps.slug, with "+dependent" appended for measurements with dependent launches */
    int         cc, sms, driver, cublaslt, nvrtc;
} gs_session;
gs_status gs_store_begin(gs_store *store, gs_session *session, gs_error *error);

/* A candidate of a problem: a schedule's text or "source:<hash>". Verdict name as in verdicts.def, "" while unknown. */
typedef struct gs_trial {
    int64_t id;                        /* row, filled */
    char    problem[GS_PROBLEM_TEXT];
    char    candidate[128];
    char    verdict[24];
    int     part;
    char    reason[256];
    int     registers, smem;
    double  predicted_us;
    double  us, library_us, ratio, low, high;   /* best known measurement; 0: none */
    int     rounds, mhz;
    char    stage[16];                 /* "race", "final", "confirm" */
    int     cc, sms, cublaslt;         /* read only: of the session that measured it */
    char    version[32];               /* read only: the program version of that session */
    char    date[24];                  /* when it was measured; empty in gs_store_put: now */
} gs_trial;

/* Inserts or updates the trial of (device, problem, candidate); fields that are 0, not finite or empty keep what is stored.
 * part and reason belong to the verdict: where it changes, they are replaced even if they are 0 or empty. */
gs_status gs_store_put(gs_store *store, const gs_session *session, const gs_trial *trial, gs_error *error);

/* The same for many, in one transaction. */
gs_status gs_store_put_all(gs_store *store, const gs_session *session, const gs_trial *trials, int count, gs_error *error);

/* Raw paired samples of one measurement of a trial (which is added if missing): times in microseconds, in the order of the rounds. clock: "device" or "call".
 * reference_us may be NULL. */
gs_status gs_store_samples(gs_store *store, const gs_session *session, const char *problem, const char *candidate,
                           const char *clock, const double *us, const double *reference_us, int count, gs_error *error);

/* Calls visit for every trial of (device, problem), best ratio first; problem NULL: all. Stops when visit returns false.
 * visit may read the store, but not write to it. */
typedef bool (*gs_trial_visit)(void *self, const gs_trial *trial);
gs_status gs_store_trials(gs_store *store, const char *device, const char *problem, gs_trial_visit visit, void *self,
                          gs_error *error);

/* The confirmed choice of a problem; its candidate is "cublaslt" or "cublaslt/3" (cuBLASLt's third suggestion) when cuBLASLt was faster. */
gs_status gs_store_win(gs_store *store, const gs_session *session, const gs_trial *winner, gs_error *error);
gs_status gs_store_winners(gs_store *store, const char *device, gs_trial_visit visit, void *self, gs_error *error);

/* Finished results of eval, so that a run can resume: key is the whole request (problem, mode, options), value its JSON row. get: NOT_FOUND; the caller frees
 * *value. */
gs_status gs_store_result_put(gs_store *store, const gs_session *session, const char *key, const char *value, gs_error *error);
gs_status gs_store_result_get(gs_store *store, const char *key, char **value, gs_error *error);

/* Calls visit for every result whose key begins with prefix, in the order of the keys. Stops when visit returns false. visit may read the store, but not
 * write to it. */
typedef bool (*gs_result_visit)(void *self, const char *key, const char *value);
gs_status gs_store_results(gs_store *store, const char *prefix, gs_result_visit visit, void *self, gs_error *error);

/* ---- sessions and curves ---- */

/* Calls visit for every session, in the order of insertion; date: when it began. visit may read the store, but not write to it. */
typedef bool (*gs_session_visit)(void *self, const gs_session *session, const char *date);
gs_status gs_store_sessions(gs_store *store, gs_session_visit visit, void *self, gs_error *error);

/* A curve: y over x, for example training loss ("train/surrogate") or regret ("regret/learned") after x steps or measured schedules. Curves of a series are
 * drawn in one picture and differ in name; putting the same (session, series, name) again replaces the curve. series and name are one line of 1 to
 * GS_CURVE_NAME - 1 bytes, x must be finite (ARGUMENT); y that is not finite is stored as NULL. */
#define GS_CURVE_NAME 128
gs_status gs_store_curve(gs_store *store, const gs_session *session, const char *series, const char *name, const double *x, const double *y, int count,
                         gs_error *error);

typedef struct gs_curve {
    char          series[GS_CURVE_NAME], name[GS_CURVE_NAME];
    char          device[64], version[32], date[24];   /* the session's device and version; when the curve was put */
    const double *x, *y;                               /* y: NaN: no number */
    int           count;
} gs_curve;

/* Calls visit for every curve whose series begins with prefix, by series, name and date. Stops when visit returns false. visit may read the store, but not
 * write to it. MEMORY. */
typedef bool (*gs_curve_visit)(void *self, const gs_curve *curve);
gs_status gs_store_curves(gs_store *store, const char *prefix, gs_curve_visit visit, void *self, gs_error *error);

/* ---- leases ---- */

/* The holder of a lease: a process of a tuner. run: shared by all tuners that work through one list; host: the machine, boot and PID name space in which pid
 * and born (the start time) identify the process. */
#define GS_LEASE_RUN 33
typedef struct gs_lessee {
    char    run[GS_LEASE_RUN], host[96];
    int64_t pid, born;
} gs_lessee;

typedef enum gs_lease {
    GS_LEASE_TAKEN,   /* the caller holds it (also: it held it before) */
    GS_LEASE_HELD,    /* another tuner holds it */
    GS_LEASE_DONE     /* a tuner of the same run has finished the problem */
} gs_lease;

void gs_lessee_run(char run[GS_LEASE_RUN]);                                /* a new random name */
gs_status gs_lessee_run_check(const char *run, gs_error *error);           /* checks a name that a person chose so that several tuners share a run. ARGUMENT */
void gs_lessee_of(gs_lessee *out, const char *run, int64_t pid);           /* fills in a living process of this machine */

/* Takes the lease of a problem (a text, as gs_problem_format writes it) on the device for `seconds`, unless another tuner holds it. A lease that expired is
 * free, and so is one whose process, on this machine, is gone. *out is HELD after a failure. */
gs_status gs_store_lease(gs_store *store, const char *device, const char *problem, const gs_lessee *who, double seconds, gs_lease *out,
                         gs_error *error);

/* Extends all leases of the tuner to `seconds` from now; any process may call it for the tuner. renewed may be NULL. */
gs_status gs_store_renew(gs_store *store, const gs_lessee *who, double seconds, int *renewed, gs_error *error);

/* Returns a lease; done: no tuner of the same run takes it again. Without effect on a lease that another tuner holds by now. */
gs_status gs_store_release(gs_store *store, const char *device, const char *problem, const gs_lessee *who, bool done, gs_error *error);

/* Returns all leases of the tuner, but keeps its marks of finished problems, which other tuners of the run need. */
gs_status gs_store_release_all(gs_store *store, const gs_lessee *who, gs_error *error);

/* At the end of a run: deletes its leases and marks of finished problems, and all expired leases. */
gs_status gs_store_release_run(gs_store *store, const char *run, gs_error *error);

/* ---- jobs ---- */

/* A job that gemmsmith serve has accepted for evaluation. It is stored before the client gets a reply, and is open until it has an answer, which never
 * changes. failed: the answer reports a failure of the machine; putting the job again opens it again. */
typedef struct gs_job {
    const char *id, *device, *request;   /* not empty; id is a hash of the content */
    int         attempts;                /* read only: how often it was begun */
    const char *answer;                  /* read only: NULL while it is open */
    bool        failed;
    int64_t     expires;                 /* milliseconds since 1970 after which nobody needs the answer any more; 0: never */
    int64_t     bytes;                   /* size of the request; set by gs_store_jobs_open only */
    bool        held;                    /* another service holds it; set by gs_store_jobs_open only */
} gs_job;

/* Adds all jobs or none, in one transaction. An existing job stays as it is, unless it failed. */
gs_status gs_store_jobs_put(gs_store *store, const gs_job *jobs, int count, gs_error *error);

/* The same, and leases the jobs to the service `who` for `seconds`; begin and renew extend a lease, the answer ends it. mine[i]: whether job i is this
 * service's now; otherwise another service holds it, or held it when it ended. */
gs_status gs_store_jobs_claim(gs_store *store, const gs_job *jobs, int count, const gs_lessee *who, double seconds, bool *mine, gs_error *error);

/* Calls visit with the job; its texts are valid during the call. NOT_FOUND. */
typedef void (*gs_job_visit)(void *self, const gs_job *job);
gs_status gs_store_job_get(gs_store *store, const char *id, gs_job_visit visit, void *self, gs_error *error);

/* Adds change (1 or -1) to the job's number of attempts. */
gs_status gs_store_job_attempt(gs_store *store, const char *id, int change, gs_error *error);

/* Counts an attempt and takes or extends the job's lease. *out is HELD if another service holds the job; then nothing is counted. */
gs_status gs_store_job_begin(gs_store *store, const char *device, const char *id, const gs_lessee *who, double seconds, gs_lease *out, gs_error *error);

/* Extends the expiry of an open job to `expires` if that is later; 0: it never expires. */
gs_status gs_store_job_keep(gs_store *store, const char *id, int64_t expires, gs_error *error);

/* Stores the answer of an open job, unless it has one, and ends the job's lease. */
gs_status gs_store_job_end(gs_store *store, const char *id, const char *answer, bool failed, gs_error *error);

/* Ends the job's lease. */
gs_status gs_store_job_leave(gs_store *store, const char *id, gs_error *error);

/* Calls visit with id, expires, bytes and held of every open job of the device, in the order in which they came. who NULL: held is false. visit may not write
 * to the store. */
gs_status gs_store_jobs_open(gs_store *store, const char *device, const gs_lessee *who, gs_job_visit visit, void *self, gs_error *error);

/* Deletes jobs that were answered before a date (gs_date_format's form), never open ones. Examines at most `most` jobs after number *after (0: from the
 * oldest), in one short transaction, and advances *after. *more: call again; otherwise the remaining jobs are younger, or there are none. */
gs_status gs_store_jobs_prune(gs_store *store, const char *before, int most, int64_t *after, int *removed, bool *more, gs_error *error);

/* cuBLASLt's time for a problem, from the newest trial that has one. NOT_FOUND. */
gs_status gs_store_library_us(gs_store *store, const char *device, const char *problem, double *us, gs_error *error);

/* The best time of the problem among trials that passed and were measured by this version; 0: there is none. */
gs_status gs_store_best_us(gs_store *store, const char *device, const char *problem, const char *version, double *us, gs_error *error);

/* ---- user kernels, and the questions to language models that led to them ---- */

/* Stores the texts of candidate "source:<hash>", unless it is there. ARGUMENT: another form of name, or an empty text. */
gs_status gs_store_source_put(gs_store *store, const char *candidate, const char *source, const char *manifest, gs_error *error);

/* NOT_FOUND, MEMORY, ARGUMENT as above; the caller frees *source and *manifest, which are NULL after a failure. */
gs_status gs_store_source_get(gs_store *store, const char *candidate, char **source, char **manifest, gs_error *error);

/* The result of a candidate of a turn at the time of the turn. Its trial may have newer results. */
typedef struct gs_turn_outcome {
    const char *candidate;             /* a schedule or "source:<hash>" */
    const char *verdict, *reason;
    int         part;
    double      us, library_us, ratio, low, high;   /* 0: not timed; values that are not finite are stored as 0 */
    double      reward;
    int         registers, smem;
    const char *metrics;               /* lines "name value" */
} gs_turn_outcome;

/* A turn: one question to a language model, its answer, and the results of the candidates in it. A text that is NULL is stored as "". */
typedef struct gs_turn {
    int64_t           id;              /* read only: the row */
    const char       *uid;             /* the same in every copy of the row; when put: from gs_store_uid, NULL: a new one */
    const char       *device;          /* read only: of the session that put it */
    const char       *problem;
    const char       *mode;            /* "source", "schedule" */
    const char       *model;
    int               island, number;  /* island: a line of development; number: which of its turns, from 1 */
    const char       *base;            /* what the model was asked to improve: "", a family, "source:<hash>" */
    const char       *system, *ask;    /* the prompt */
    const char       *answer;          /* as received */
    const char       *fault;           /* why the answer could not be parsed; "": it was */
    const char       *date;            /* read only */
    const gs_turn_outcome *outcomes;
    int               count;
} gs_turn;

#define GS_STORE_UID 33
void gs_store_uid(char uid[GS_STORE_UID]);   /* a random name, unique among all stores */

/* Stores a turn with its outcomes, in one transaction. ARGUMENT: unknown mode, an outcome without a candidate, a negative count. */
gs_status gs_store_turn_put(gs_store *store, const gs_session *session, const gs_turn *turn, gs_error *error);

/* Adds the outcomes of a turn that was stored without them (an answer is stored at once, because it was paid for). A turn that has outcomes keeps them.
 * NOT_FOUND; ARGUMENT as above. */
gs_status gs_store_turn_end(gs_store *store, const char *uid, const gs_turn_outcome *outcomes, int count, gs_error *error);

/* Calls visit for every turn of the device and the problem (NULL: of all), in the order in which they came. Its texts are valid during the call. Stops when
 * visit returns false. visit may read the store, except turns, and not write to it. */
typedef bool (*gs_turn_visit)(void *self, const gs_turn *turn);
gs_status gs_store_turns(gs_store *store, const char *device, const char *problem, gs_turn_visit visit, void *self, gs_error *error);

/* Copies rows that the other store has and this one lacks, in one transaction; where both have a value, this store's is kept. Leases and jobs are not copied.
 * *copied (may be NULL) counts rows. NOT_FOUND, ARGUMENT (the other is this one). STORE_CORRUPT: the other is damaged; the rows that could be read have been
 * copied. */
gs_status gs_store_merge(gs_store *store, const char *other_path, int64_t *copied, gs_error *error);

#endif
