/* SPDX-License-Identifier: MIT
 * What the headers of a request say about who asks, and how: read before anything else of it is. */
#ifndef GS_SERVICE_HEADERS_H
#define GS_SERVICE_HEADERS_H

#include <stdbool.h>

struct MHD_Connection;

const char *gs_service_header(struct MHD_Connection *connection, const char *name);   /* NULL: is not there */

/* A header that decides where the request ends, who asks or what is sent, and is there twice: whoever passes the request on may have believed the other one. NULL: none is. */
const char *gs_service_header_twice(struct MHD_Connection *connection);

/* A page of a browser cannot send this type to another site without being asked, which nobody here answers. */
bool gs_service_header_json(struct MHD_Connection *connection);

/* Whether the request names this machine as its host. Without a token a page whose name was pointed at this machine, after the browser had loaded it, must not pass for one of
 * ours: its name gives it away. */
bool gs_service_header_loopback(struct MHD_Connection *connection);

/* Whether the request carries the token: as a bearer's, or as the password of a URL, http://any:TOKEN@host:7811/, which is all that some trainers can be given. */
bool gs_service_header_token(struct MHD_Connection *connection, const char *token);

#endif
