#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the rooms of src/ and cli/ and who includes whom, from the code's own includes, as docs/internals/rooms.svg.

    draw_rooms.py            writes the picture
    draw_rooms.py --check    exit 1 if the picture that is there is not what this writes now

A room stands above all that it includes. An arrow that follows from others is left out, sizes are rounded to 500 lines: the picture
changes when the rooms do, not at every commit."""
import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
import check_law

PICTURE = "docs/internals/rooms.svg"
BOX, HEIGHT, ACROSS, DOWN, BEND = 104, 40, 16, 46, 14   # of a box, between boxes, and of the place where a long arrow passes a layer


def groups(rooms, arrows):
    """room -> the rooms that stand in a circle with it, itself included; no circle: itself alone"""
    of = {room: (room,) for room in rooms}
    for part in check_law.circles(arrows):
        for room in part:
            of[room] = tuple(part)
    return of


def layers(rooms, arrows, of):
    """room -> how many rooms stand at most between it and the ground"""
    known = {}

    def depth(group):
        if group not in known:
            below = {of[to] for room in group for to in arrows.get(room, ()) if of[to] != group}
            known[group] = max((depth(one) + 1 for one in below), default=0)
        return known[group]
    return {room: depth(of[room]) for room in rooms}


def reduced(rooms, arrows, of):
    """The arrows without those that follow from two or more others; within a circle, all."""
    reach = {}

    def all_below(room):
        if room not in reach:
            reach[room] = set()
            for to in arrows.get(room, ()):
                if of[to] != of[room]:
                    reach[room] |= {to} | all_below(to)
        return reach[room]
    left = []
    for room in rooms:
        for to in sorted(arrows.get(room, ())):
            others = [o for o in arrows[room] if o != to and of[o] not in (of[room], of[to])]
            if of[to] == of[room] or not any(to in all_below(o) for o in others):
                left.append((room, to))
    return left


def ordered(rows, links):
    """Each row sorted so that what is linked stands near: some sweeps of the mean of the neighbours' places."""
    near = {}
    for a, b in links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    place = {}

    def settle():
        for row in rows:
            width = sum(BEND if isinstance(n, tuple) else BOX for n in row) + ACROSS * (len(row) - 1)
            x = -width / 2
            for node in row:
                w = BEND if isinstance(node, tuple) else BOX
                place[node] = x + w / 2
                x += w + ACROSS
    settle()
    for sweep in range(24):
        level = {node: i for i, row in enumerate(rows) for node in row}
        for i in range(len(rows)) if sweep % 2 else range(len(rows) - 1, -1, -1):
            side = -1 if sweep % 2 else 1
            def wanted(node):
                beside = [place[o] for o in near.get(node, ()) if level[o] == i + side] or [place[o] for o in near.get(node, ())]
                return sum(beside) / len(beside) if beside else place[node]
            rows[i].sort(key=lambda node: (round(wanted(node), 3), str(node)))
            settle()
    return place


def draw(tree):
    lines, arrows = tree.room_lines(), {room: set(to) for room, to in tree.arrows().items()}
    rooms = tree.rooms
    arrows = {room: {to for to in arrows.get(room, ()) if to in rooms} for room in rooms}
    of = groups(rooms, arrows)
    level = layers(rooms, arrows, of)
    top = max(level.values())
    rows = [[room for room in rooms if level[room] == top - i] for i in range(top + 1)]
    chains, links = [], []
    for a, b in reduced(rooms, arrows, of):
        if level[a] == level[b]:
            chains.append([a, b])
            continue
        chain = [a] + [(a, b, i) for i in range(level[a] - 1, level[b], -1)] + [b]
        for node in chain[1:-1]:
            rows[top - node[2]].append(node)
        chains.append(chain)
        links += zip(chain, chain[1:])
    place = ordered(rows, links)
    height = {node: 24 + i * (HEIGHT + DOWN) for i, row in enumerate(rows) for node in row}
    left = min(place[n] - BOX / 2 for n in place) - 20
    width = max(place[n] + BOX / 2 for n in place) + 20 - left
    place = {node: x - left for node, x in place.items()}
    full = 24 + len(rows) * (HEIGHT + DOWN) + 16

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {full:.0f}" font-family="sans-serif" font-size="13">',
           '<title>Rooms of gemmsmith and what they include</title>',
           '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#667"/></marker></defs>',
           '<rect width="100%" height="100%" fill="#fff"/>']
    for chain in chains:
        a, b = chain[0], chain[-1]
        if level[a] == level[b]:   # in a circle: an arc above the boxes
            x, to, y = place[a], place[b], height[a]
            path = f"M{x:.0f} {y}C{x:.0f} {y - 24} {to:.0f} {y - 24} {to:.0f} {y}"
            out.append(f'<path d="{path}" fill="none" stroke="#b33" marker-end="url(#tip)"/>')
            continue
        x, y = place[a], height[a] + HEIGHT
        path = f"M{x:.0f} {y}"
        for node in chain[1:]:
            to, at = place[node], height[node]
            path += f"C{x:.0f} {y + DOWN * .6:.0f} {to:.0f} {at - DOWN * .6:.0f} {to:.0f} {at}"
            x, y = to, at
            if isinstance(node, tuple):
                y = at + HEIGHT
                path += f"V{y}"
        out.append(f'<path d="{path}" fill="none" stroke="#889" marker-end="url(#tip)"/>')
    for room in rooms:
        x, y = place[room] - BOX / 2, height[room]
        fill = "#cfe3f7" if room in check_law.SHIPPED else "#f2f2ee"
        size = max(round(lines[room] / 500) * 500, 500)
        parts = sorted({file.name.split("/")[2] for file in tree.files.values() if file.room == room and file.name.count("/") > 2})
        said = ", ".join(parts) if room in check_law.PARTED else f"{size} lines"
        out.append(f'<rect x="{x:.0f}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="4" fill="{fill}" stroke="#667"/>')
        out.append(f'<text x="{x + BOX / 2:.0f}" y="{y + 17}" text-anchor="middle" font-weight="bold">{room}</text>')
        out.append(f'<text x="{x + BOX / 2:.0f}" y="{y + 33}" text-anchor="middle" font-size="10" fill="#556">{said}</text>')
    out.append(f'<text x="12" y="{full - 8:.0f}" font-size="11" fill="#556">Blue: ships in libgemmsmith.so. Arrows that follow from others are left out. Made by scripts/draw_rooms.py.</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--check", action="store_true", help="compare instead of writing")
    options = arguments.parse_args()
    picture = check_law.ROOT / PICTURE
    made = draw(check_law.Tree(check_law.ROOT))
    if not options.check:
        picture.write_text(made, encoding="utf-8")
    elif not picture.exists() or picture.read_text(encoding="utf-8") != made:
        print(f"{PICTURE} is not what the code's includes are now: run python3 scripts/draw_rooms.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
