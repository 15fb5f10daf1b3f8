/* SPDX-License-Identifier: MIT
 * Verifies kernels that a script made, on the emulated device: one command per line of standard input, one answer per line of standard output.
 *
 *     source SCHEDULE PROBLEM OUT          writes the source that a family has for the schedule to the file OUT
 *     family SCHEDULE PROBLEM SOURCE       the kernel of the schedule with another source, without edge problems
 *     user MANIFEST PROBLEM SOURCE PARTS   a user kernel, not inspected; PARTS: all, main (without edge problems)
 *
 * The answer: "CODE VERDICT PART REASON"; CODE is a hash of the compiled code, 0 where there is none. A child of its own judges each, so
 * that one that crashes, or takes longer than LIMIT seconds, ends nothing else: "0 crash 0", "0 time 0". */
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "common/datagen.h"
#include "loaded/loaded.h"
#include "kernel/kernel.h"
#include "loaded/contender.h"
#include "verify/verify.h"

#define DEVICE "emu:h200,threads=1,seed=3"
#define LIMIT  60

static void give_up(const char *what, const gs_error *error)
{
    printf("0 %s 0 %s: %s\n", what, error->field, error->text);
    fflush(stdout);
    _exit(0);
}

static void try(gs_status status, const char *what, const gs_error *error)
{
    if (status != GS_OK) give_up(what, error);
}

static char *read_file(const char *path)
{
    char *text;
    size_t size;
    gs_error error = {0};
    try(gs_file_read(path, 1u << 22, &text, &size, &error), "file", &error);
    return text;
}

/* Of the instructions and constants of the compiled kernel, so that mutants without an effect show as such; not of what debuggers need. */
static uint64_t hash_code(const char *code, size_t size)
{
    static const char *const kept[] = {".text.", ".nv.constant2", ".nv.constant3", ".nv.constant4", ".nv.global.init"};
    uint64_t hash = 0;
    Elf64_Ehdr head;
    if (size < sizeof head) return 0;
    memcpy(&head, code, sizeof head);
    for (int i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section, names;
        memcpy(&section, code + head.e_shoff + (size_t)i * sizeof section, sizeof section);
        memcpy(&names, code + head.e_shoff + head.e_shstrndx * sizeof names, sizeof names);
        for (size_t k = 0; k < GS_COUNT(kept); k++)
            if (section.sh_type != SHT_NOBITS && strncmp(code + names.sh_offset + section.sh_name, kept[k], strlen(kept[k])) == 0)
                hash = gs_mix(hash + gs_hash64(code + section.sh_offset, section.sh_size));
    }
    return hash;
}

static unsigned long long code_of(gs_device *device, const gs_kernel *kernel)
{
    gs_kernel_source source;
    gs_image image = {0};
    gs_error error = {0};
    gs_kernel_to_source(kernel, &source);
    if (device->ops->compile(device, &source.source, &image, &error) != GS_OK) give_up("compile", &error);
    const uint64_t hash = hash_code(image.code, image.size);
    gs_image_free(&image);
    return hash;
}

static void judge(gs_device *device, const gs_kernel *kernel, const gs_problem *problem, uint32_t parts)
{
    gs_contender contender;
    gs_verifier *verifier;
    gs_verdict verdict;
    gs_error error = {0};
    const unsigned long long code = code_of(device, kernel);
    try(gs_verifier_create(&verifier, device, &error), "machine", &error);
    try(gs_contender_kernel_own(&contender, device, kernel->name, kernel, &error), "machine", &error);
    const gs_verify_options options = {.seed = 11, .parts = parts};
    try(gs_verify(verifier, &contender, problem, &options, &verdict, &error), "machine", &error);
    for (char *at = verdict.reason; *at; at++)
        if (*at == '\n') *at = ' ';
    printf("%016llx %s %d %s\n", code, gs_verdict_name(verdict.code), verdict.part, verdict.reason);
}

static void run(char *line)
{
    char *word[5] = {0};
    gs_device *device;
    gs_error error = {0};
    gs_problem problem;
    gs_schedule schedule;
    int words = 0;
    for (char *at = strtok(line, " \n"); at && words < 5; at = strtok(NULL, " \n")) word[words++] = at;
    if (words < 4) give_up("command", &(gs_error){.text = "too few words"});
    gs_kernel kernel = {.name = "mutant.cu"};
    try(gs_device_open(&device, DEVICE, NULL, &error), "machine", &error);
    try(gs_problem_parse(&problem, word[2], &error), "command", &error);
    if (strcmp(word[0], "user") == 0) {
        kernel.source = read_file(word[3]);
        try(gs_manifest_parse(&kernel.manifest, read_file(word[1]), &error), "command", &error);
        judge(device, &kernel, &problem, words > 4 && strcmp(word[4], "main") == 0 ? GS_PART_ALL & ~(uint32_t)GS_PART_EDGES : 0);
        return;
    }
    try(gs_schedule_parse(&schedule, word[1], &error), "command", &error);
    try(gs_kernel_build(&kernel, &schedule, &problem, &device->caps, &error), "command", &error);
    if (strcmp(word[0], "source") == 0) {
        gs_text text = {0};
        gs_kernel_add_text(&text, &kernel);
        try(gs_file_write(word[3], text.data, text.size, &error), "file", &error);
        gs_text_free(&text);
        printf("0 pass 0\n");
    } else {
        kernel.name = "mutant.cu";
        kernel.source = read_file(word[3]);
        judge(device, &kernel, &problem, GS_PART_ALL & ~(uint32_t)GS_PART_EDGES);
    }
}

int main(void)
{
    char line[4096];
    if (!gs_compiler_version(NULL)) return 77;
    while (fgets(line, sizeof line, stdin)) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(LIMIT);
            run(line);
            fflush(stdout);
            _exit(0);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child) return 1;
        if (WIFSIGNALED(status)) printf("0 %s 0 signal %d\n", WTERMSIG(status) == SIGALRM ? "time" : "crash", WTERMSIG(status));
        fflush(stdout);
    }
    return 0;
}
