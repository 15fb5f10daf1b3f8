/* SPDX-License-Identifier: MIT */
#include "service/headers.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "service/request.h"
#include "service/service.h"

const char *gs_service_header(struct MHD_Connection *connection, const char *name) { return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name); }

/* ---- duplicates ---- */

static const char *const single[] = {"Content-Length", "Transfer-Encoding", "Host", "Authorization", "Content-Type", "Expect", "Connection"};

typedef struct seen {
    int count[GS_COUNT(single)];
} seen;

static enum MHD_Result count(void *self, enum MHD_ValueKind kind, const char *key, const char *value)
{
    seen *const found = self;
    (void)kind, (void)value;
    for (size_t i = 0; i < GS_COUNT(single); i++) found->count[i] += strcasecmp(key, single[i]) == 0;
    return MHD_YES;
}

const char *gs_service_header_twice(struct MHD_Connection *connection)
{
    seen found = {0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count, &found);
    for (size_t i = 0; i < GS_COUNT(single); i++)
        if (found.count[i] > 1) return single[i];
    return NULL;
}

/* ---- single headers ---- */

bool gs_service_header_json(struct MHD_Connection *connection)
{
    static const char json[] = "application/json";
    const size_t size = sizeof json - 1;
    const char *const type = gs_service_header(connection, "Content-Type");
    return type && strncasecmp(type, json, size) == 0 && (type[size] == '\0' || type[size] == ';' || type[size] == ' ');
}

bool gs_service_header_loopback(struct MHD_Connection *connection)
{
    const char *const given = gs_service_header(connection, "Host");
    char host[64];
    if (!given) return true;
    const bool six = given[0] == '[';
    const size_t size = strcspn(given + six, six ? "]" : ":");
    if (size >= sizeof host) return false;
    memcpy(host, given + six, size);
    host[size] = '\0';
    return gs_service_address_loopback(host);
}

static bool password_is(struct MHD_Connection *connection, const char *token)
{
    char *password = NULL;
    char *const name = MHD_basic_auth_get_username_password(connection, &password);
    const bool good = password && gs_service_token_equal(token, password);
    if (name) MHD_free(name);
    if (password) MHD_free(password);
    return good;
}

bool gs_service_header_token(struct MHD_Connection *connection, const char *token)
{
    static const char bearer[] = "Bearer ", basic[] = "Basic ";
    const char *const given = gs_service_header(connection, "Authorization");
    if (given && strncmp(given, basic, sizeof basic - 1) == 0) return password_is(connection, token);
    return given && strncmp(given, bearer, sizeof bearer - 1) == 0 && gs_service_token_equal(token, given + sizeof bearer - 1);
}

bool gs_service_address_loopback(const char *address)
{
    struct in_addr four;
    struct in6_addr six;
    if (strcmp(address, "localhost") == 0) return true;
    if (inet_pton(AF_INET, address, &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}
