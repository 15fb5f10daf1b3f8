/* SPDX-License-Identifier: MIT
 * Starts and ends a service: jobs start before HTTP, and end after it. */
#include "service/service.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/json.h"
#include "service/http.h"
#include "service/request.h"
#include "service/screen.h"

struct gs_service {
    gs_service_jobs *jobs;
    gs_service_http *http;
};

gs_status gs_service_start(gs_service **out, const gs_service_options *options, gs_error *error)
{
    gs_service *const service = *out = calloc(1, sizeof *service);
    if (!service) return gs_fail(error, GS_ERROR_MEMORY, NULL, "no memory for the service");
    gs_jobs_options jobs = options->jobs;
    jobs.answer = gs_service_answer;
    jobs.ours = gs_service_request_ours;
    jobs.scope = options->scope;
    gs_status status = gs_service_jobs_start(&service->jobs, &jobs, error);
    if (status == GS_OK) status = gs_service_http_start(&service->http, service->jobs, options, error);
    if (status != GS_OK) gs_service_free(out);
    return status;
}

void gs_service_tend(gs_service *service) { gs_service_http_tend(service->http); }

int gs_service_stop(gs_service *service)
{
    if (service->http) gs_service_http_refuse(service->http);
    if (service->jobs) gs_service_jobs_stop(service->jobs);
    if (service->http) gs_service_http_stop(&service->http);
    return service->jobs ? gs_service_open_jobs(service) : 0;
}

void gs_service_free(gs_service **service)
{
    if (!*service) return;
    gs_service_stop(*service);
    gs_service_jobs_free(&(*service)->jobs);
    free(*service);
    *service = NULL;
}

int gs_service_port(const gs_service *service) { return gs_service_http_port(service->http); }

void gs_service_object(gs_service *service, const char *url, bool token, bool listed, gs_text *out)
{
    gs_json json = gs_json_into(out);
    gs_json_begin(&json, NULL, '{');
    gs_json_string(&json, "url", url);
    gs_json_string(&json, "device", gs_service_device_name(service));
    gs_json_bool(&json, "token", token);
    gs_json_bool(&json, "listed_problems_only", listed);
    gs_json_int(&json, "open", gs_service_open_jobs(service));
    gs_json_end(&json, '}');
}

const char *gs_service_device_name(const gs_service *service) { return gs_service_jobs_slug(service->jobs); }

int gs_service_open_jobs(const gs_service *service)
{
    int running;
    return gs_service_jobs_open(service->jobs, &running);
}

gs_problem *gs_service_grid(int *count)
{
    static const int64_t sizes[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384};
    const size_t each = GS_COUNT(sizes), all = each * each * each;
    gs_problem *const list = calloc(all, sizeof *list);
    for (size_t i = 0; list && i < all; i++) list[i] = gs_problem_make(GS_F16, GS_TN, sizes[i / (each * each)], sizes[i / each % each], sizes[i % each]);
    *count = list ? (int)all : 0;
    return list;
}
