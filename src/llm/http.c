/* SPDX-License-Identifier: MIT
 * A minimal use of libcurl: http and https only, no redirects, one request per connection; stops within 20 ms when asked to. */
#include "llm/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"

enum { POLL_MS = 20, REFUSAL_MOST = 64 << 10 };

typedef struct exchange {
    const gs_http_post *post;
    gs_reply  *reply;
    CURL      *easy;
    bool       begun;
    bool       refusal;     /* the status is not 2xx: the body is an error message */
    size_t     size;
    gs_status  status;      /* of reading the reply */
    gs_error   error;
} exchange;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode       global = CURLE_FAILED_INIT;
static void start(void) { global = curl_global_init(CURL_GLOBAL_DEFAULT); }

static gs_status no_memory(gs_error *error) { return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the request"); }

/* ---- the URL ---- */

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

static char *part_of(CURLU *url, CURLUPart what)
{
    char *text = NULL;
    return curl_url_get(url, what, &text, 0) == CURLUE_OK ? text : NULL;
}

static gs_status set_path(CURLU *url, gs_error *error)
{
    char *const path = part_of(url, CURLUPART_PATH);
    if (!path) return no_memory(error);
    size_t size = strlen(path);
    while (size > 0 && path[size - 1] == '/') path[--size] = '\0';
    gs_text whole = {0};
    gs_text_add(&whole, path);
    if (!ends_with(path, "/chat/completions")) gs_text_add(&whole, size == 0 ? "/v1/chat/completions" : "/chat/completions");
    curl_free(path);
    const bool set = !whole.failed && curl_url_set(url, CURLUPART_PATH, gs_text_string(&whole), 0) == CURLUE_OK;
    gs_text_free(&whole);
    return set ? GS_OK : no_memory(error);
}

static gs_status complete_url(CURLU *url, const char *base, char **out, gs_error *error)
{
    if (curl_url_set(url, CURLUPART_URL, base, 0) != CURLUE_OK) return gs_fail(error, GS_ERROR_ARGUMENT, "url", "must be http://... or https://...");
    char *const scheme = part_of(url, CURLUPART_SCHEME), *const user = part_of(url, CURLUPART_USER), *const password = part_of(url, CURLUPART_PASSWORD);
    const bool web = scheme && (strcasecmp(scheme, "http") == 0 || strcasecmp(scheme, "https") == 0);
    const bool secret = user || password;
    curl_free(scheme);
    curl_free(user);
    curl_free(password);
    if (!web) return gs_fail(error, GS_ERROR_ARGUMENT, "url", "must be http://... or https://...");
    if (secret) return gs_fail(error, GS_ERROR_ARGUMENT, "url", "has a name or a password in it: the key belongs into the environment");
    GS_TRY(set_path(url, error));
    curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
    char *const whole = part_of(url, CURLUPART_URL);
    *out = whole ? strdup(whole) : NULL;
    curl_free(whole);
    return *out ? GS_OK : no_memory(error);
}

gs_status gs_http_url(const char *base, char **out, gs_error *error)
{
    *out = NULL;
    CURLU *const url = curl_url();
    if (!url) return no_memory(error);
    const gs_status status = complete_url(url, base, out, error);
    curl_url_cleanup(url);
    return status;
}

/* ---- the reply ---- */

static bool is_type(const char *type, const char *wanted)
{
    const size_t size = strlen(wanted);
    return strncasecmp(type, wanted, size) == 0 && (type[size] == '\0' || type[size] == ';' || type[size] == ' ');
}

/* At the first bytes: which kind of reply is it? Without a content type it is taken to be what was asked for. */
static gs_status begin(exchange *x)
{
    long http = 0;
    const char *type = NULL;
    curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &http);
    curl_easy_getinfo(x->easy, CURLINFO_CONTENT_TYPE, &type);
    x->begun = true;
    x->refusal = http < 200 || http > 299;
    if (x->refusal) x->reply->stream = false;
    else if (type && is_type(type, "text/event-stream")) x->reply->stream = true;
    else if (type && is_type(type, "application/json")) x->reply->stream = false;
    else if (type && *type)
        return gs_fail(&x->error, GS_ERROR_PARSE, "reply", "neither application/json nor text/event-stream: is the URL that of an OpenAI-compatible endpoint?");
    return GS_OK;
}

static size_t body(char *bytes, size_t one, size_t count, void *self)
{
    exchange *const x = self;
    const size_t size = one * count;
    if (!x->begun) x->status = begin(x);
    if (x->status != GS_OK) return 0;
    if (x->refusal) {   /* the beginning of an error message is enough */
        const size_t some = GS_MIN(size, REFUSAL_MOST - GS_MIN((size_t)REFUSAL_MOST, x->size));
        x->size += some;
        x->status = gs_reply_feed(x->reply, bytes, some, &x->error);
    } else if ((x->size += size) > x->post->reply_most) {
        x->status = gs_fail(&x->error, GS_ERROR_RANGE, "reply", "longer than %zu bytes", x->post->reply_most);
    } else {
        x->status = gs_reply_feed(x->reply, bytes, size, &x->error);
    }
    return x->status == GS_OK && !x->reply->done ? size : 0;
}

/* ---- sending ---- */

static bool set_options(CURL *easy, exchange *x, struct curl_slist *headers)
{
    const gs_http_post *const p = x->post;
    bool set = true;
#define SET(option, value) set = set && curl_easy_setopt(easy, option, value) == CURLE_OK
    SET(CURLOPT_URL, p->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDS, p->body);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->body_size);
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(p->connect_s * 1000) + 1);
    SET(CURLOPT_TIMEOUT_MS, (long)(p->total_s * 1000) + 1);
    SET(CURLOPT_WRITEFUNCTION, body);
    SET(CURLOPT_WRITEDATA, (void *)x);
#if LIBCURL_VERSION_NUM >= 0x075700
    SET(CURLOPT_QUICK_EXIT, 1L);   /* a pending name lookup does not delay the end */
#endif
    if (p->ca_path) SET(CURLOPT_CAINFO, p->ca_path);
#undef SET
    return set;
}

static CURLcode run(CURLM *multi, const volatile sig_atomic_t *stop, bool *stopped)
{
    for (int running = 1; running > 0;) {
        if ((*stopped = stop && *stop)) return CURLE_ABORTED_BY_CALLBACK;
        if (curl_multi_perform(multi, &running) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
        if (running > 0 && curl_multi_poll(multi, NULL, 0, POLL_MS, NULL) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
    }
    int left;
    const CURLMsg *const message = curl_multi_info_read(multi, &left);
    return message ? message->data.result : CURLE_OUT_OF_MEMORY;
}

/* With CURLOPT_NOSIGNAL libcurl does not ignore SIGPIPE: a TLS write to a closed connection would end the program. */
static CURLcode run_without_pipe_signal(CURLM *multi, const volatile sig_atomic_t *stop, bool *stopped)
{
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const CURLcode code = run(multi, stop, stopped);
    if (!sigismember(&pending, SIGPIPE))
        while (sigtimedwait(&pipe_signal, NULL, &(struct timespec){0}) == SIGPIPE) continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static gs_status failed(CURLcode code, const gs_http_post *post, gs_http_outcome *outcome, gs_error *error)
{
    const char *const why = curl_easy_strerror(code);
    switch (code) {
    case CURLE_OUT_OF_MEMORY: return no_memory(error);
    case CURLE_OPERATION_TIMEDOUT:
        outcome->retry = !outcome->sent;   /* a slow model would be as slow again */
        return outcome->sent ? gs_fail(error, GS_ERROR_TIMEOUT, "attempt", "no whole answer within %.3g s", post->total_s)
                             : gs_fail(error, GS_ERROR_TIMEOUT, "connection", "no connection within %.3g s", GS_MIN(post->connect_s, post->total_s));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return gs_fail(error, GS_ERROR_ARGUMENT, "certificate", "%s", why);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT: return gs_fail(error, GS_ERROR_ARGUMENT, "url", "%s", why);
    default: outcome->retry = true; return gs_fail(error, GS_ERROR_IO, "connection", "%s", why);
    }
}

static gs_status judge(exchange *x, CURLcode code, bool stopped, gs_http_outcome *outcome, gs_error *error)
{
    long http = 0, sent = 0;
    curl_off_t wait = 0;
    curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &http);
    curl_easy_getinfo(x->easy, CURLINFO_REQUEST_SIZE, &sent);
    curl_easy_getinfo(x->easy, CURLINFO_RETRY_AFTER, &wait);
    *outcome = (gs_http_outcome){.http = (int)http, .sent = sent > 0, .retry_after_s = (double)wait};
    if (stopped) return gs_fail(error, GS_ERROR_INTERRUPTED, NULL, "stopped while the model was asked");
    if (x->status != GS_OK) {
        if (error) *error = x->error;
        outcome->retry = x->reply->code == 429 || x->reply->code >= 500;
        return x->status;
    }
    if (code != CURLE_OK && !x->reply->done && !(http >= 300 && x->begun)) return failed(code, x->post, outcome, error);
    if (http < 200 || http > 299) {
        outcome->retry = http == 408 || http == 429 || http >= 500;
        return gs_reply_refused(x->reply, (int)http, error);
    }
    return GS_OK;
}

static struct curl_slist *list_of(const char *const *headers)
{
    struct curl_slist *list = NULL;
    for (; *headers; headers++) {
        struct curl_slist *const more = curl_slist_append(list, *headers);
        if (!more) {
            curl_slist_free_all(list);
            return NULL;
        }
        list = more;
    }
    return list;
}

gs_status gs_http_send(const gs_http_post *post, gs_reply *reply, gs_http_outcome *outcome, gs_error *error)
{
    *outcome = (gs_http_outcome){0};
    pthread_once(&once, start);
    if (global != CURLE_OK) return gs_fail(error, GS_ERROR_IO, "connection", "libcurl does not start: %s", curl_easy_strerror(global));
    CURL *const easy = curl_easy_init();
    CURLM *const multi = curl_multi_init();
    struct curl_slist *const headers = list_of(post->headers);
    exchange x = {.post = post, .reply = reply, .easy = easy};
    gs_status status;
    if (!easy || !multi || !headers || !set_options(easy, &x, headers) || curl_multi_add_handle(multi, easy) != CURLM_OK) {
        status = no_memory(error);
    } else {
        bool stopped = false;
        const CURLcode code = run_without_pipe_signal(multi, post->stop, &stopped);
        status = judge(&x, code, stopped, outcome, error);
        curl_multi_remove_handle(multi, easy);
    }
    for (struct curl_slist *at = headers; at; at = at->next) explicit_bzero(at->data, strlen(at->data));   /* one of them has the key */
    curl_slist_free_all(headers);
    curl_easy_cleanup(easy);
    if (multi) curl_multi_cleanup(multi);
    return status;
}
