"""Called by scripts/page/plan: see there."""

import argparse
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

from browser import Browser, pixels

# Kimi K3 over eight ranks: bytes of each group in the checkpoint and on a rank.
K3 = {
    "routed-experts": (1_446_456_066_048, 180_807_008_256),
    "kda": (36_948_071_424, 4_729_359_360),
    "attention-common": (32_765_902_848, 4_095_737_856),
    "shared-experts": (24_310_185_984, 3_038_773_248),
    "latent-moe": (9_454_620_672, 1_182_404_608),
    "global": (4_697_663_488, 587_245_568),
    "mla": (2_689_695_744, 972_128_256),
    "dense-mlp": (1_453_326_336, 181_665_792),
    "router": (1_182_074_880, 1_182_074_880),
    "norms+attnres": (7_999_488, 7_999_488),
    "vision": (802_428_928, 0),
    "projector": (92_289_024, 0),
}
K3_CARDS = {
    "bytes on the fullest rank": 196_784_397_312,
    "bytes on all ranks": 8 * 196_784_397_312,
    "bytes read, each once": 1_559_965_606_912,
    "bytes replicated on every rank": 2_044_224_512,
    "bytes skipped": 894_717_952,
}
PROOF = [
    "every wanted byte is read once, all others are skipped",
    "every byte of every tensor on every rank is written once",
    "the ranks of each stage hold equally many bytes",
    "no group of elements is parted from its scale",
    "the numbers of this page are those of the copy program",
]

# What makes a page load or run something.
ACTS = re.compile(r"<(script|link|iframe|frame|object|embed|img|image|audio|video|source|use|base|foreignObject)\b"
                  r"|\b(src|srcset|href|action|xlink:\w+|on\w+)\s*=|\burl\s*\(|@import|https?:|javascript:|http-equiv", re.I)
# The name of a vocabulary, which nothing is loaded from.
VOCABULARY = 'xmlns="http://www.w3.org/2000/svg"'

# Measures the page from within: what it loaded, what is cut off, which texts of
# the drawing lie over others, over bars, or outside.
PROBE = """<script>
addEventListener("load", () => {
  const name = e => (e.querySelector("title") || e).textContent.slice(0, 90)
  const apart = (a, b) => a.right <= b.left + .5 || b.right <= a.left + .5 || a.bottom <= b.top + 1.5 || b.bottom <= a.top + 1.5
  const box = e => [name(e), e.getBoundingClientRect()]
  const svg = document.querySelector("svg"), frame = svg.getBoundingClientRect()
  const texts = [...svg.querySelectorAll("text")].map(box)
  const rects = [...svg.querySelectorAll("rect")].filter(r => r.getAttribute("width") != "100%").map(box)
  const found = {loaded: performance.getEntriesByType("resource").map(e => e.name), cut: [], over: [], outside: []}
  for (const e of [document.documentElement, ...document.querySelectorAll(".wide,.card,td,th")])
    if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth) found.cut.push(e.tagName + ": " + name(e))
  texts.forEach(([t, a], i) => {
    if (a.left < frame.left || a.right > frame.right || a.top < frame.top || a.bottom > frame.bottom) found.outside.push(t)
    for (const [u, b] of [...texts.slice(i + 1), ...rects]) if (!apart(a, b)) found.over.push(t + " / " + u)
  })
  found.texts = texts.length
  found.rects = rects.length
  const p = document.createElement("pre")
  p.id = "probe"
  p.textContent = JSON.stringify(found)
  document.body.append(p)
})
</script>"""


class Page(html.parser.HTMLParser):
    """The text of tables, cards and of the probe."""

    def __init__(self, text):
        super().__init__()
        self.headings, self.tables, self.cards, self.found = [], {}, {}, None
        self.text, self.card, self.inside = "", None, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "tr":
            self.tables.setdefault(self.headings[-1], []).append([])
        elif tag == "br" and self.card is not None:
            self.cards[self.text.strip()] = self.card
            self.card = None
        if tag in ("h2", "td", "th", "b") or attrs.get("id") == "probe":
            self.text, self.inside = "", attrs.get("id", tag)

    def handle_data(self, data):
        self.text += data

    def handle_endtag(self, tag):
        text = self.text.strip()
        if tag == "h2":
            self.headings.append(text)
        elif tag in ("td", "th"):
            self.tables[self.headings[-1]][-1].append(text)
        elif tag == "b":
            self.card, self.text = number(text), ""
        elif tag == "pre" and self.inside == "probe":
            self.found = json.loads(text)


def number(text):
    return int(text.replace(",", ""))


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def equal(self, what, got, want):
        self.true(got == want, f"{what}: {got}, want {want}")

    def true(self, ok, what):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print("FAIL " + what[:2000], flush=True)


def numbers(checks, name, page, plan):
    """The page says what the plan's document says."""
    totals = plan["totals"]
    cards = dict(zip(K3_CARDS, (max(r["bytes"] for r in plan["ranks"]), totals["device_bytes"], totals["read_bytes"],
                                totals["replicated_bytes_per_rank"], totals["skipped_bytes"])))
    cards["bytes of padding a rank"] = totals["padding_bytes_per_rank"]
    checks.equal(f"{name}: cards", page.cards, cards)
    checks.equal(f"{name}: proof", page.tables["Proof"], [["yes", line] for line in PROOF])
    ranks = [(number(r[0]), number(r[1]), number(r[3])) for r in page.tables["Ranks"][1:]]
    checks.equal(f"{name}: ranks", ranks, [(r["rank"], r["stage"], r["bytes"]) for r in plan["ranks"]])
    fullest = max(plan["ranks"], key=lambda r: r["bytes"])["stage"]
    want = {g["group"]: (g["bytes_total"], 0 if g["action"] == "skip" else g["bytes_per_stage_rank"][fullest]) for g in plan["groups"]}
    checks.equal(f"{name}: groups", groups(page), want)
    families = [(r[0], number(r[2]), number(r[6]), number(r[7])) for r in page.tables["Families"][1:]]
    checks.equal(f"{name}: families", families, [(f["pattern"], f["count"], f["bytes_total"], f["bytes_per_rank"]) for f in plan["families"]])


def groups(page):
    return {r[0]: (number(r[1]), number(r[2])) for r in page.tables["Bytes by group"][1:]}


def official(checks, page):
    """The page of the full-size Kimi K3 over eight ranks."""
    checks.equal("Kimi K3: groups", groups(page), K3)
    for label, want in K3_CARDS.items():
        checks.equal("Kimi K3: " + label, page.cards.get(label), want)
    checks.equal("Kimi K3: ranks", [number(r[3]) for r in page.tables["Ranks"][1:]], [196_784_397_312] * 8)


def acts(text):
    """What in a page or a drawing loads or runs something."""
    return [m.group() for m in ACTS.finditer(text.replace(VOCABULARY, ""))]


def look(checks, name, browser, path):
    """Opens a page as it is, then a copy that measures itself."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    checks.equal(f"{name}: acts", acts(text), [])
    dom, said = browser.dom(path)
    checks.equal(f"{name}: console", said, [])
    checks.equal(f"{name}: acts when rendered", acts(dom), [])
    measured = path + ".probe.html"
    with open(measured, "w", encoding="utf-8") as f:
        f.write(text.replace("</body>", PROBE + "</body>"))
    found = Page(browser.dom(measured)[0]).found
    for what in ("loaded", "cut", "over", "outside"):
        checks.equal(f"{name}: {what}", found[what], [])
    checks.true(found["texts"] > 20 and found["rects"] > 50, f"{name}: the drawing has {found}")
    return Page(dom)


def bars(checks, name, browser, path, plan):
    """The drawing is XML, and its bars are painted to the scale of the bytes."""
    with open(path, encoding="utf-8") as f:
        checks.equal(f"{name}: acts", acts(f.read()), [])
    root = xml.etree.ElementTree.parse(path).getroot()
    svg = "{http://www.w3.org/2000/svg}"
    checks.equal(f"{name}: root", root.tag, svg + "svg")
    rows = {}
    for rect in root.iter(svg + "rect"):
        title = rect.findtext(svg + "title", "")
        if m := re.match(r"([^:]+): ([\d,]+) bytes?( \(.*\))?$", title):
            rows.setdefault(int(rect.get("y")), {})[m[1]] = number(m[2]), rect.get("fill")
    want = [{g["group"]: n for g in plan["groups"] if g["action"] != "skip" and (n := g["bytes_per_stage_rank"][r["stage"]])} for r in plan["ranks"]]
    checks.equal(f"{name}: bars", [{g: n for g, (n, _) in row.items()} for _, row in sorted(rows.items())], want)
    size = int(root.get("width")), int(root.get("height"))
    png = path + ".png"
    browser.picture(path, size, png)
    width, height, lines = pixels(png, max(rows) + 30)
    checks.equal(f"{name}: size", (width, height), size)
    scale = None
    for y, row in sorted(rows.items()):
        line = lines[y + 9]
        painted = {g: sum(p == colour(fill) for p in line) for g, (_, fill) in row.items()}
        if scale is None:  # bars begin and end within pixels, which the widest feels least
            widest = max(row, key=lambda g: row[g][0])
            scale = painted[widest] / row[widest][0]
        for g, (n, _) in row.items():
            checks.true(abs(painted[g] - n * scale) <= 3, f"{name}: {g} at {y} is {painted[g]} wide, {n * scale:.1f} would be to scale")
    checks.true(sum(painted.values()) > 0.6 * width, f"{name}: bars are narrow: {painted}")


def colour(fill):
    return tuple(bytes.fromhex(fill[1:]))


def alarms(checks, browser, work):
    """The alarms of this script ring: a page that logs an error, loads something,
    and has texts over each other."""
    path = os.path.join(work, "bad.html")
    bad = ('<!DOCTYPE html><html><body><h2>x</h2><img src="http://192.0.2.1/x.png"><script>console.error("bad")</script>'
           '<svg width="99" height="99"><text x="9" y="50">some text</text><text x="12" y="52">some more text</text></svg></body></html>')
    with open(path, "w") as f:
        f.write(bad.replace("</body>", PROBE + "</body>"))
    dom, said = browser.dom(path)
    found = Page(dom).found
    checks.true(any("bad" in line for line in said), f"bad page: console {said}")
    checks.true(found["loaded"] and found["over"] and found["outside"], f"bad page: {found}")
    checks.true(len(acts(bad)) >= 3, f"bad page: acts {acts(bad)}")


def planned(ckpt, work, name, *topology):
    """Draws a plan; the paths of its page and drawing, and its document."""
    page, drawing = (os.path.join(work, name + suffix) for suffix in (".html", ".svg"))
    command = [ckpt, "plan", *topology, name, "-q", "--json", "--html", page, "--svg", drawing]
    done = subprocess.run(command, cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return page, drawing, json.loads(done.stdout)


def synth(ckpt, work, name, *args):
    subprocess.run([ckpt, "synth", "-q", args[0], name, *args[1:]], cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/page/plan")
    parser.add_argument("ckpt")
    parser.add_argument("browser")
    parser.add_argument("work")
    parser.add_argument("screenshot", nargs="?")
    args = parser.parse_args()
    checks, browser = Checks(), Browser(args.browser)
    alarms(checks, browser, args.work)
    synth(args.ckpt, args.work, "kimi-k3", "kimi-k3", "--full")
    synth(args.ckpt, args.work, "mini", "kimi-k3")
    for name, topology in (("kimi-k3", ("--tp", "8")), ("mini", ("--tp", "2", "--pp", "2"))):
        path, drawing, plan = planned(args.ckpt, args.work, name, *topology)
        page = look(checks, name + ".html", browser, path)
        numbers(checks, name + ".html", page, plan)
        bars(checks, name + ".svg", browser, drawing, plan)
        if name == "kimi-k3":
            official(checks, page)
            shot = os.path.join(args.work, "shot.png")
            browser.picture(path, (1280, 2300), shot)  # down to the end of the drawing
            checks.true(os.path.getsize(shot) > 50_000, f"the picture of the page has {os.path.getsize(shot)} bytes: it is blank")
            if args.screenshot:
                shutil.copyfile(shot, args.screenshot)
    print(f"page: {checks.passed} passed, {checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
