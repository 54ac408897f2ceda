"""Single files: the verdict of ckpt against that of the official package."""

import json
import os
import subprocess
from collections import Counter

import cases
import official
import stricter


def verdicts(program, paths):
    """What ckpt says of each path, in order."""
    done = subprocess.run([program], input="".join(p + "\n" for p in paths), capture_output=True, encoding="utf-8", check=True)
    lines = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert [line["path"] for line in lines] == paths
    return lines


def contents(line):
    tensors = {t["name"]: (t["dtype"], t["shape"] or [], t["bytes"], t["sha256"]) for t in line["tensors"]}
    assert len(tensors) == len(line["tensors"]), line["path"]
    return tensors, line["metadata"] or {}


def compare(report, name, ours, theirs, ways):
    """Same verdict and same contents, or a difference that has a name."""
    codes = ours["kinds"] or []
    if ours["accepted"]:
        if not report.check(theirs is not None, f"{name}: ckpt accepts what the official package refuses"):
            return
        report.check(not ways, f"{name}: ckpt accepts {sorted(ways)}")
        report.check(contents(ours) == theirs, f"{name}: contents differ: {contents(ours)} and {theirs}")
        return
    report.check(codes, f"{name}: refused without a code: {ours['error']}")
    if theirs is None:
        return
    if not report.check(ways, f"{name}: ckpt refuses what the official package accepts: {codes} {ours['error']}"):
        return
    allowed = set().union(*(stricter.WAYS[w] for w in ways))
    report.check(set(codes) <= allowed, f"{name}: {codes} for {sorted(ways)}: {ours['error']}")


def generated(report, verdict, work):
    """Files of our own; returns the paths of those that both accept."""
    folder = os.path.join(work, "cases")
    os.mkdir(folder)
    made, paths = list(cases.files()), []
    for case in made:
        path = os.path.join(folder, case.name + ".safetensors")
        with open(path, "wb") as f:
            f.write(case.data)
        paths.append(path)
    tally, accepted = Counter(), []
    for case, path, ours in zip(made, paths, verdicts(verdict, paths)):
        theirs, ways = official.judge(path, case.data), stricter.ways(case.data)
        if case.why:
            report.check(case.why in ways, f"{case.name}: made for {case.why}, shows {sorted(ways)}")
        compare(report, case.name, ours, theirs, ways)
        if theirs is not None and not ours["accepted"]:
            tally.update(ways)
        if theirs is not None and ours["accepted"]:
            accepted.append(path)
    refused = len(made) - len(accepted)
    print(f"{len(made)} files, {len(accepted)} accepted and {refused} refused by ckpt; stricter on purpose:")
    for way in stricter.WAYS:
        print(f"  {tally[way]:4} {way}")
        report.check(tally[way], f"no file shows that ckpt is stricter by: {way}")
    return accepted


def corpus(report, verdict, folder, work):
    """The corpus of odd files: the recorded verdicts still hold, ours too."""
    with open(os.path.join(folder, "expected.json")) as f:
        expected = json.load(f)
    entries = [(e, os.path.join(folder, e["file"])) for e in expected["files"]]
    for e in expected["recipes"]:
        path = os.path.join(work, e["file"])
        cook(e["recipe"], path)
        entries.append((e, path))
    for (e, path), ours in zip(entries, verdicts(verdict, [p for _, p in entries])):
        name, accept = e["file"], e["contract"] != "reject"
        with open(path, "rb") as f:
            data = f.read()
        theirs = official.judge(path, data)
        says = "reject" if theirs is None else "accept"
        report.check(says == e["official"]["safe_open"], f"{name}: the official package says {says}")
        report.check(ours["accepted"] == accept, f"{name}: ckpt accepted: {ours['accepted']}, expected {e['contract']}: {ours['error']}")
        compare(report, name, ours, theirs, stricter.ways(data))
        if not accept and data:
            report.check(set(ours["kinds"] or []) <= {*e["codes"], *e["alternative"], *e["also"]},
                         f"{name}: {ours['kinds']}, expected {e['codes']}")


def cook(recipe, path):
    """Writes a file of the corpus that is too large to be stored."""
    header = recipe["json"].encode()
    with open(path, "wb") as f:
        f.write(recipe["n"].to_bytes(8, "little") + header)
        f.write(recipe["fill"].encode() * (recipe["n"] - len(header)))
        f.write(bytes(recipe["data_zeros"]))
