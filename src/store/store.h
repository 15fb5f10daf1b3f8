/* SPDX-License-Identifier: MIT
 * The store: a notebook (an SQLite file, WAL, or a PostgreSQL database) of everything tried: sessions, candidates, verdicts, measurements, winners.
 * Safe for several processes; every call is one transaction, so a killed run loses nothing that was reported as kept.
 * A gs_store belongs to one thread, and to the process that opened it: do not carry it across fork.
 * The schema is versioned; a store of an older version is migrated when it is opened to write, of a newer one refused (STORE_VERSION). */
#ifndef GS_STORE_STORE_H
#define GS_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <gemmsmith/problem.h>

#include "schedule/caps.h"

typedef struct gs_store gs_store;

/* Where a path is wanted, a connection string may stand ("postgresql://user@host/database", "host=... dbname=..."): then the store is that PostgreSQL
 * database, which many machines may share, and its tables are made when it is empty. A call whose connection is lost connects again, for up to a minute, and
 * does what it was to do once. IO: there is no server; UNSUPPORTED: built without libpq. */
bool gs_store_is_server(const char *path);   /* it is a connection string */
bool gs_store_may_be(const char *path);      /* it is one, or a file that is there */

/* NULL path: $GEMMSMITH_STORE, else store.db in the user's data directory. Created when absent. Codes, also of the calls below:
 * STORE (also: a database of another program), STORE_CORRUPT (the message says how to go on), STORE_BUSY (another process held
 * it for 10 s), STORE_VERSION, DISK_FULL, IO, MEMORY; ARGUMENT for a session that was not begun, and the codes of
 * gs_problem_parse for a problem's text, which is stored in its canonical form. After any failure the call has stored nothing
 * and the store can be used on. */
gs_status   gs_store_open(gs_store **out, const char *path, gs_error *error);

/* The same to read only: nothing is created, converted or written. NOT_FOUND: it is not there; STORE also: it is an empty file. Of a store of an
 * older version a copy in memory is converted and read. Calls that write fail (IO). */
gs_status   gs_store_open_read(gs_store **out, const char *path, gs_error *error);
void        gs_store_close(gs_store **store);

/* A file that is as another program, or a person with sqlite3, left it on purpose: its pages get new checksums, *accepted of them had others.
 * STORE_CORRUPT: what is in them is no sound database. */
gs_status   gs_store_seal(const char *path, int64_t *accepted, gs_error *error);

/* Reads everything. STORE_CORRUPT: names what is damaged. UNSUPPORTED of a server, here and above: it has its own checksums. */
gs_status   gs_store_check(gs_store *store, int64_t *pages, gs_error *error);
const char *gs_store_path(const gs_store *store);   /* of a server: as it was named, without a password */

/* One run of a program: what later rows refer to. */
typedef struct gs_session {
    int64_t     id;                    /* filled by gs_store_begin */
    const char *command, *version, *commit;
    const char *device;                /* caps.slug; "+dependent" behind it: with dependent launches */
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
    double  us, library_us, ratio, low, high;   /* best known measurement, 0: none */
    int     rounds, mhz;
    char    stage[16];                 /* "race", "final", "confirm" */
    int     cc, sms, cublaslt;         /* when read: of the session that measured it */
    char    version[32];               /* when read: that session's program */
    char    date[24];                  /* when it was measured; empty when put: now */
} gs_trial;

/* Inserts or updates the trial of (device, problem, candidate); fields that are 0, not finite or empty keep what is stored.
 * part and reason belong to the verdict: where it changes, they are replaced even if they are 0 or empty. */
gs_status gs_store_put(gs_store *store, const gs_session *session, const gs_trial *trial, gs_error *error);

/* The same for many, in one transaction. */
gs_status gs_store_put_all(gs_store *store, const gs_session *session, const gs_trial *trials, int count, gs_error *error);

/* Raw paired samples of one measurement, kept beside the trial (made if there is none yet): times in microseconds, in rounds.
 * clock: "device" or "call". reference_us may be NULL. */
gs_status gs_store_samples(gs_store *store, const gs_session *session, const char *problem, const char *candidate,
                           const char *clock, const double *us, const double *reference_us, int count, gs_error *error);

/* Calls visit for every trial of (device, problem), best ratio first; problem NULL: all. Stops when visit returns false.
 * visit may read the store, but not write to it. */
typedef bool (*gs_trial_visit)(void *self, const gs_trial *trial);
gs_status gs_store_trials(gs_store *store, const char *device, const char *problem, gs_trial_visit visit, void *self,
                          gs_error *error);

/* Winners: the confirmed choice of a problem; candidate "cublaslt" or "cublaslt/3" (its third suggestion) when cuBLASLt was
 * faster. */
gs_status gs_store_win(gs_store *store, const gs_session *session, const gs_trial *winner, gs_error *error);
gs_status gs_store_winners(gs_store *store, const char *device, gs_trial_visit visit, void *self, gs_error *error);

/* eval results that were finished, for resuming: key is the whole request (problem, mode, options), value its JSON row.
 * get: NOT_FOUND; *value is the caller's. */
gs_status gs_store_result_put(gs_store *store, const gs_session *session, const char *key, const char *value, gs_error *error);
gs_status gs_store_result_get(gs_store *store, const char *key, char **value, gs_error *error);

/* Calls visit for every result whose key begins so, in the order of the keys. Stops when visit returns false. visit may read the store, but
 * not write to it. */
typedef bool (*gs_result_visit)(void *self, const char *key, const char *value);
gs_status gs_store_results(gs_store *store, const char *prefix, gs_result_visit visit, void *self, gs_error *error);

/* ---- sessions and curves ---- */

/* Calls visit for every session, in the order in which they were put in; date: when it began. visit may read the store, but not write to it. */
typedef bool (*gs_session_visit)(void *self, const gs_session *session, const char *date);
gs_status gs_store_sessions(gs_store *store, gs_session_visit visit, void *self, gs_error *error);

/* y over x: what was learned ("train/surrogate") or lost ("regret/learned") after so many steps or measured schedules. Curves of a series belong
 * into one picture and differ in their names; a session that puts the same again replaces it. Both are one line of 1 to GS_CURVE_NAME - 1 bytes;
 * x must be finite, y that is not is kept as "no number": ARGUMENT. */
#define GS_CURVE_NAME 128
gs_status gs_store_curve(gs_store *store, const gs_session *session, const char *series, const char *name, const double *x, const double *y, int count,
                         gs_error *error);

typedef struct gs_curve {
    char          series[GS_CURVE_NAME], name[GS_CURVE_NAME];
    char          device[64], version[32], date[24];   /* of the session, and when it was put in */
    const double *x, *y;                               /* y: NaN where there is no number */
    int           count;
} gs_curve;

/* Calls visit for every curve whose series begins so, by series, name and date. Stops when visit returns false. visit may read the store, but not
 * write to it. MEMORY. */
typedef bool (*gs_curve_visit)(void *self, const gs_curve *curve);
gs_status gs_store_curves(gs_store *store, const char *prefix, gs_curve_visit visit, void *self, gs_error *error);

/* ---- leases ---- */

/* A tuner as it holds leases. run names all tuners that share a list, host the machine on which pid and born mean this process. */
#define GS_LEASE_RUN 33
typedef struct gs_lessee {
    char    run[GS_LEASE_RUN], host[96];
    int64_t pid, born;
} gs_lessee;

typedef enum gs_lease {
    GS_LEASE_TAKEN,   /* it is the caller's (also: it was already) */
    GS_LEASE_HELD,    /* another tuner works on it */
    GS_LEASE_DONE     /* a tuner of the same run is done with it */
} gs_lease;

void gs_lessee_run(char run[GS_LEASE_RUN]);                                /* a new name */
gs_status gs_lessee_run_check(const char *run, gs_error *error);           /* a name that somebody chose, for tuners that do not know each other. ARGUMENT */
void gs_lessee_of(gs_lessee *out, const char *run, int64_t pid);           /* a living process of this machine */

/* Takes the problem (a text, as gs_problem_format writes it) on the device for so many seconds, unless another tuner has it: one whose
 * lease has not expired and whose process, where this machine can tell, lives. *out is HELD after a failure. */
gs_status gs_store_lease(gs_store *store, const char *device, const char *problem, const gs_lessee *who, double seconds, gs_lease *out,
                         gs_error *error);

/* So many seconds from now for all that the tuner holds; any process may do it for it. renewed may be NULL. */
gs_status gs_store_renew(gs_store *store, const gs_lessee *who, double seconds, int *renewed, gs_error *error);

/* Gives a lease back; done: nobody of the same run shall take it again. One that another tuner has by now stays that one's. */
gs_status gs_store_release(gs_store *store, const char *device, const char *problem, const gs_lessee *who, bool done, gs_error *error);

/* Gives back all that the tuner has, but no mark of what is done: others of the run go on. */
gs_status gs_store_release_all(gs_store *store, const gs_lessee *who, gs_error *error);

/* At the end of a run: forgets its leases, what it has done, and what expired. */
gs_status gs_store_release_run(gs_store *store, const char *run, gs_error *error);

/* ---- jobs ---- */

/* What gemmsmith serve has promised to evaluate: a job is there before its caller is told so, and is open until it has an answer, which never
 * changes. failed: the answer says that the machine failed; put again, the job is open again. */
typedef struct gs_job {
    const char *id, *device, *request;   /* not empty; id names the content */
    int         attempts;                /* when read: how often it was begun */
    const char *answer;                  /* when read: NULL while it is open */
    bool        failed;
    int64_t     expires;                 /* milliseconds since 1970, after which nobody wants the answer any more; 0: somebody always does */
    int64_t     bytes;                   /* of the request; of gs_store_jobs_open */
    bool        held;                    /* another service has it; of gs_store_jobs_open */
} gs_job;

/* All of them or none, in one transaction. One that is there stays as it is, unless it failed. */
gs_status gs_store_jobs_put(gs_store *store, const gs_job *jobs, int count, gs_error *error);

/* The same, and takes them on for the service `who`: each by a lease of so many seconds, which begin and renew lengthen and the answer ends. mine: of each, whether it is
 * this service's now; else another one has it, or had it when it ended. */
gs_status gs_store_jobs_claim(gs_store *store, const gs_job *jobs, int count, const gs_lessee *who, double seconds, bool *mine, gs_error *error);

/* Calls visit with the job; its texts live as long as the call. NOT_FOUND. */
typedef void (*gs_job_visit)(void *self, const gs_job *job);
gs_status gs_store_job_get(gs_store *store, const char *id, gs_job_visit visit, void *self, gs_error *error);

/* Counts an attempt (1) or takes it back (-1). */
gs_status gs_store_job_attempt(gs_store *store, const char *id, int change, gs_error *error);

/* Counts an attempt of a job that is the service's own, or nobody's: then it is its own from now on. HELD: another service has it, and nothing is counted. */
gs_status gs_store_job_begin(gs_store *store, const char *device, const char *id, const gs_lessee *who, double seconds, gs_lease *out, gs_error *error);

/* Somebody wants the answer of an open job until then, too; 0: always. */
gs_status gs_store_job_keep(gs_store *store, const char *id, int64_t expires, gs_error *error);

/* The answer of an open job; one that has its answer keeps it. Nobody has taken it on any more. */
gs_status gs_store_job_end(gs_store *store, const char *id, const char *answer, bool failed, gs_error *error);

/* No service has taken the job on any more. */
gs_status gs_store_job_leave(gs_store *store, const char *id, gs_error *error);

/* Calls visit with the id, the end and the length of every open job of the device, in the order in which they came, and whether another service than `who` (NULL: not looked at) has it.
 * visit may not write to the store. */
gs_status gs_store_jobs_open(gs_store *store, const char *device, const gs_lessee *who, gs_job_visit visit, void *self, gs_error *error);

/* Forgets jobs that were answered before a date (gs_date_format's form); open ones never. Looks at no more than so many jobs after the number *after (0: from
 * the oldest on), in one short transaction, and sets *after behind them. *more: call again; else all that follow are younger, or there are none. */
gs_status gs_store_jobs_prune(gs_store *store, const char *before, int most, int64_t *after, int *removed, bool *more, gs_error *error);

/* cuBLASLt's time for a problem, from the newest trial that has one. NOT_FOUND. */
gs_status gs_store_library_us(gs_store *store, const char *device, const char *problem, double *us, gs_error *error);

/* The best time of a problem that passed, of kernels of this version; 0: there is none. */
gs_status gs_store_best_us(gs_store *store, const char *device, const char *problem, const char *version, double *us, gs_error *error);

/* ---- user kernels, and the turns in which models wrote them ---- */

/* Keeps the texts of candidate "source:<hash>"; what is there already stays. ARGUMENT: another name, or a text that is empty. */
gs_status gs_store_source_put(gs_store *store, const char *candidate, const char *source, const char *manifest, gs_error *error);

/* NOT_FOUND, MEMORY, ARGUMENT as above; *source and *manifest are the caller's (free()), NULL after a failure. */
gs_status gs_store_source_get(gs_store *store, const char *candidate, char **source, char **manifest, gs_error *error);

/* What came of a candidate of a turn, as it was then: its trial may know more by now. */
typedef struct gs_turn_outcome {
    const char *candidate;             /* a schedule or "source:<hash>" */
    const char *verdict, *reason;
    int         part;
    double      us, library_us, ratio, low, high;   /* 0: not timed; not finite: put as 0 */
    double      reward;
    int         registers, smem;
    const char *metrics;               /* lines "name value" */
} gs_turn_outcome;

/* A question to a language model, its answer, and what came of the candidates in it. A text that is NULL is put as "". */
typedef struct gs_turn {
    int64_t           id;              /* when read: the row */
    const char       *uid;             /* the same in every copy; put: of gs_store_uid, NULL: a new one */
    const char       *device;          /* when read: of the session that put it */
    const char       *problem;
    const char       *mode;            /* "source", "schedule" */
    const char       *model;
    int               island, number;  /* a line of development, and which of its turns: 1, 2, ... */
    const char       *base;            /* what it was to develop: "", a family, "source:<hash>" */
    const char       *system, *ask;    /* the prompt */
    const char       *answer;          /* as it came */
    const char       *fault;           /* why the answer could not be read; "": it could */
    const char       *date;            /* when read */
    const gs_turn_outcome *outcomes;
    int               count;
} gs_turn;

#define GS_STORE_UID 33
void gs_store_uid(char uid[GS_STORE_UID]);   /* a new name, that no other row has in any store */

/* With its outcomes, in one transaction. ARGUMENT: another mode, no candidate's name, less than no outcomes. */
gs_status gs_store_turn_put(gs_store *store, const gs_session *session, const gs_turn *turn, gs_error *error);

/* What came of a turn that was put without outcomes, because its answer was paid for before anything came of it; one that has some keeps them.
 * NOT_FOUND; ARGUMENT as above. */
gs_status gs_store_turn_end(gs_store *store, const char *uid, const gs_turn_outcome *outcomes, int count, gs_error *error);

/* Calls visit for every turn of the device and the problem, in the order in which they came; NULL: of all. Its texts live as long as the call. Stops when
 * visit returns false. visit may read the store, but not turns, and not write to it. */
typedef bool (*gs_turn_visit)(void *self, const gs_turn *turn);
gs_status gs_store_turns(gs_store *store, const char *device, const char *problem, gs_turn_visit visit, void *self, gs_error *error);

/* Copies what the other store has and this one has not, in one transaction; where both know something, this one's stays. Leases and jobs are not copied.
 * *copied (may be NULL) counts rows. NOT_FOUND, ARGUMENT (the other is this one). STORE_CORRUPT: the other is damaged; what could
 * be read of it, whole kinds of rows, has been copied. */
gs_status gs_store_merge(gs_store *store, const char *other_path, int64_t *copied, gs_error *error);

#endif
