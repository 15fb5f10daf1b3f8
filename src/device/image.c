/* SPDX-License-Identifier: MIT
 * Freeing the compiler's output. */
#include <stdlib.h>

#include "device/device.h"

void gs_image_free(gs_image *image)
{
    free(image->code);
    free(image->ptx);
    free(image->log);
    *image = (gs_image){0};
}
