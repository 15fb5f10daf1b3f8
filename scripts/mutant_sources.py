# SPDX-License-Identifier: MIT
"""One build that contains many mutants, of which a shared file chooses some while the tests run. For mutate.py.

A function with mutants is there once more for each of them, and begins with the question which of them is asked for. Where the change is, the function leaves
a mark, so that one run of the tests says which of them execute what was changed; so does the mutant. A file of kernels/ is text to the programs: it is there once more where
texts are looked up, and a kernel that is looked up marks the mutants of all that it includes."""
import collections
import re

from mutations import applied, flat, matching

Function = collections.namedtuple("Function", "start brace end name header call")   # header: without the body. call: what calls another with its arguments

LOOKUP, LOOKUP_FILE = "gs_embedded_find", "src/kernel/define.c"         # where kernels' texts are looked up
HEADERS_FILE, HEADER = "src/loaded/code.c", "file->text"          # where those that they include are
FIRST = 64                                                          # bytes before those of the mutants, two each: its mark, whether it is chosen


def size_of(count):
    """Bytes of the shared file for so many mutants, from number 1 on."""
    return (FIRST + 2 * (count + 1) + 4095) // 4096 * 4096


PRELUDE = """
#ifndef GS_MUTANTS
#define GS_MUTANTS
#include <sys/syscall.h>
extern long syscall(long number, ...);
__attribute__((weak, visibility("hidden"))) volatile unsigned char *gs_mutants;
__attribute__((constructor(101), used)) static void gs_mutants_map(void)
{
    if (gs_mutants) return;
    const long file = syscall(SYS_openat, -100, "%s", 02000002, 0);
    if (file < 0) return;
    const long at = syscall(SYS_mmap, 0L, %dL, 3L, 1L, file, 0L);
    syscall(SYS_close, file);
    if (at > 0 || at < -4096) gs_mutants = (volatile unsigned char *)at;
}
__attribute__((unused)) static inline _Bool gs_mutant(int number)
{
    return gs_mutants && gs_mutants[%d + 2 * number + 1];
}
__attribute__((unused)) static inline void gs_mark(int number)
{
    if (gs_mutants) gs_mutants[%d + 2 * number] = 1;
}
#endif
"""


def functions(text):
    """Functions that can be there twice: with a list of named parameters, none of them open, and without attributes."""
    code, begin = flat(text), 0
    while True:
        brace = code.find("{", begin)
        end = matching(code, brace) if brace >= 0 else -1
        if end < 0:
            return
        begin = max(begin, code.rfind(";", begin, brace) + 1)   # behind what is declared before it
        start = begin + len(code[begin:brace]) - len(code[begin:brace].lstrip())
        found = function(code, text, start, brace, end)
        if found:
            yield found
        begin = end + 1


def function(code, text, start, brace, end):
    header = code[start:brace].rstrip()
    if not header.endswith(")") or "__attribute__" in header or "=" in header or re.match(r"(?:typedef|struct|enum|union)\b[^(]*$", header):
        return None
    opening = next((i for i in range(len(header)) if header[i] == "(" and matching(header, i) == len(header) - 1), -1)
    name = re.search(r"(\w+)\s*$", header[:opening]) if opening > 0 else None
    if not name or not header[:name.start()].strip():
        return None
    names = []
    for part in split(header[opening + 1:-1]):
        if part.strip() in ("", "void"):
            continue
        pointer = re.search(r"\(\s*\*\s*(?:const\s+)?(\w+)\s*\)", part)
        plain = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", part)
        if part.strip() == "..." or not (pointer or plain):
            return None
        names.append((pointer or plain).group(1))
    kind = re.sub(r"\b(?:static|inline|extern|_Noreturn|GS_\w+)\b", "", header[:name.start()]).strip()
    call = "(" + ", ".join(names) + ")"
    return Function(start, brace, end, name.group(1), text[start:brace].rstrip(), ("{ @%s; return; }" if kind == "void" else "return @%s;") % call)


def split(parts):
    depth, begin, found = 0, 0, []
    for i, sign in enumerate(parts + ","):
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == "," and depth == 0:
            found.append(parts[begin:i])
            begin = i + 1
    return found


def function_of(found, mutant):
    return next((one for one in found if one.brace < mutant.start and mutant.end <= one.end), None)


def with_mutants(text, numbered, path, size):
    """(the file's text with all of its mutants, those that it cannot have). numbered: {number: mutant}."""
    found = list(functions(text))
    of_function, left = collections.defaultdict(list), []
    for number, mutant in sorted(numbered.items()):
        one = function_of(found, mutant)
        if one:
            of_function[one].append((number, mutant))
        else:
            left.append(number)
    code, parts, at = flat(text), [], 0
    for one in sorted(of_function):
        prelude = PRELUDE % (path, size, FIRST, FIRST) if at == 0 else ""
        static = "" if re.search(r"\bstatic\b", one.header) else "static "
        copies, asks, marks = "", "", collections.defaultdict(str)
        for number, mutant in of_function[one]:
            name = f"{one.name}__m{number}"
            header = static + re.sub(rf"\b{one.name}(?=\s*\()", name, one.header, count=1)
            body = applied(mutant._replace(start=mutant.start - one.brace, end=mutant.end - one.brace), text[one.brace:one.end + 1])
            mark, place = f" gs_mark({number});", statement(code, one, mutant.start)
            at_body = place - one.brace
            copies += f"{header}\n{body[:at_body]}{mark}{body[at_body:]}\n"
            asks += f" if (gs_mutant({number})) {one.call.replace('@', name)}"
            marks[place] += mark
        parts += [text[at:one.start], prelude, one.header, ";\n", copies, one.header, "\n{", asks]
        at = one.brace + 1
        for place, mark in sorted(marks.items()):
            parts += [text[at:place], mark]
            at = place
    return "".join(parts) + text[at:], left


def statement(code, one, at):
    """Where the statement begins that `at` is in, or one around it: behind a semicolon or a bracket of a block."""
    block = i = begin = one.brace
    while i < at:
        if code[i] in "([" or code[i] == "{" and not is_block(code, i, block):
            i = matching(code, i)
        elif code[i] == "{":
            end = matching(code, i)
            if end < at:
                i = end
                begin = i if not re.match(r"\s*(?:else|while)\b", code[i + 1:]) else begin
            else:
                block = begin = i
        elif code[i] == ";" and not re.match(r"\s*(?:else|while)\b", code[i + 1:]):
            begin = i
        i += 1
    labels = re.match(r"(?:\s*(?:case\b[^:;{]*|default\s*):)+", code[begin + 1:])   # what lies before them in a switch is not executed
    return begin + 1 + (labels.end() if labels else 0)


def is_block(code, at, block):
    """Whether a bracket in a block begins another one, not the values of something."""
    before = code[block:at].rstrip()
    if before.endswith(")"):
        opening = next(i for i in range(len(before) - 1, -1, -1) if before[i] == "(" and matching(before, i) == len(before) - 1)
        return re.search(r"\b(?:if|for|while|switch)\s*$", before[:opening]) is not None
    return at == block or before.endswith((";", "{", "}", ":")) or re.search(r"\b(?:else|do)$", before) is not None


def includes(texts):
    """{kernel: all files of kernels/ that it contains, itself as well}. texts: {name: text}."""
    found = {}
    for name in texts:
        inner, seek = {name}, [name]
        while seek:
            more = {other for other in re.findall(r'#include "([^"]+)"', texts[seek.pop()]) if other in texts} - inner
            inner |= more
            seek += more
        found[name] = inner
    return found


def with_texts(text, numbered, path, size, texts):
    """The file that looks kernels up, with mutants of their texts. numbered: {number: (name of the file, its text)}. texts: {name: text} of all."""
    one = next(one for one in functions(text) if one.name == LOOKUP)
    inner = re.sub(rf"\b{LOOKUP}\b", LOOKUP + "__text", text[one.start:one.end + 1], count=1)
    contains = includes(texts)
    cases = "".join(f'    if (strcmp(name, "{name}") == 0 && gs_mutant({number})) return {literal(changed)};\n' for number, (name, changed) in sorted(numbered.items()))
    marks = "".join(f'    if (strcmp(name, "{kernel}") == 0) gs_mark({number});\n' for number, (name, _) in sorted(numbered.items())
                    for kernel in sorted(contains) if name in contains[kernel])
    wrapped = (f"const char *gs_mutant_text(const char *name, const char *text);\nconst char *gs_mutant_text(const char *name, const char *text)\n{{\n{cases}    return text;\n}}\n"
               f"static {inner}\n{one.header}\n{{\n    const char *const found = {LOOKUP}__text(name);\n{marks}    return found ? gs_mutant_text(name, found) : found;\n}}")
    return text[:one.start] + PRELUDE % (path, size, FIRST, FIRST) + wrapped + text[one.end + 1:]


def with_headers(text):
    """The file that gives kernels what they include, so that it gives mutants of that."""
    return "extern const char *gs_mutant_text(const char *name, const char *text);\n" + text.replace(HEADER, "gs_mutant_text(file->name, file->text)")


def literal(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return "\n".join(f'"{line}\\n"' for line in escaped.split("\n"))[:-3] + '"'
