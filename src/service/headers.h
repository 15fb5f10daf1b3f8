/* SPDX-License-Identifier: MIT
 * Checks of a request's headers: who asks, and how. Done before anything else of it is read. */
#ifndef GS_SERVICE_HEADERS_H
#define GS_SERVICE_HEADERS_H

#include <stdbool.h>

struct MHD_Connection;

const char *gs_service_header(struct MHD_Connection *connection, const char *name);   /* NULL: absent */

/* The name of a header that occurs twice though it determines the length of the request, the client or the content: a proxy may have used the other value.
 * NULL: none. */
const char *gs_service_header_twice(struct MHD_Connection *connection);

/* Whether the content type is JSON. A browser does not send it to another site without a CORS preflight, which this service does not answer. */
bool gs_service_header_json(struct MHD_Connection *connection);

/* Whether the Host header names this machine. Without a token this prevents DNS rebinding: a web page whose name is redirected to this machine still sends
 * its own name. */
bool gs_service_header_loopback(struct MHD_Connection *connection);

/* Whether the request has the token: as a bearer token, or as the password in a URL, http://any:TOKEN@host:7811/, because some trainers accept only a URL. */
bool gs_service_header_token(struct MHD_Connection *connection, const char *token);

#endif
