"""A headless Chromium without a network, and what it says about a page."""

import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import zlib

# A page takes a second or two; a browser that hangs is ended.
SECONDS = 90

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-device-scale-factor=1",
         "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr"]

CONSOLE = re.compile(r":CONSOLE[^\]]*\] (.*)")


def alone():
    """The command before another that leaves it no network, or nothing where
    this system has none."""
    for command in (["unshare", "--net"], ["unshare", "--user", "--map-root-user", "--net"]):
        if shutil.which(command[0]) and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            return command
    print("page: no network namespaces here; only names do not resolve")
    return []


class Browser:
    def __init__(self, program):
        self.program, self.prefix = program, alone()

    def run(self, path, size, *flags):
        """Standard output and the console's messages of a page in a new profile."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            command = [*self.prefix, self.program, *FLAGS, "--user-data-dir=" + profile, "--window-size=%d,%d" % size, *flags, "file://" + path]
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env={**os.environ, "HOME": profile}, start_new_session=True)
            try:
                out, err = child.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()
                raise SystemExit(f"{self.program}: not done with {path} after {SECONDS} s")
        said = err.decode(errors="replace")
        if child.returncode != 0:
            raise SystemExit(f"{self.program}: exit status {child.returncode} for {path}\n{said[-2000:]}")
        return out.decode(), CONSOLE.findall(said)

    def dom(self, path, size=(1280, 1600)):
        """The document as rendered, and the console's messages."""
        return self.run(path, size, "--dump-dom")

    def picture(self, path, size, png):
        self.run(path, size, "--screenshot=" + png)


def pixels(png, rows):
    """Width, height and the first rows of a picture, each a list of (r, g, b).
    Chromium writes eight bits a channel, not interlaced."""
    with open(png, "rb") as f:
        data = f.read()
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", data[16:29])
    if depth != 8 or colour not in (2, 6) or interlace:
        raise SystemExit(f"{png}: not the kind of PNG that is read here")
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += length + 12
    raw, size = zlib.decompress(packed), 3 if colour == 2 else 4
    out, above = [], bytearray(width * size)
    for y in range(min(rows, height)):
        start = y * (width * size + 1)
        above = unfilter(raw[start], bytearray(raw[start + 1:start + 1 + width * size]), above, size)
        out.append([tuple(above[i:i + 3]) for i in range(0, width * size, size)])
    return width, height, out


def unfilter(kind, line, above, size):
    """One line of a PNG (section 9 of its specification)."""
    for i in range(len(line)):
        a = line[i - size] if i >= size else 0
        b, c = above[i], above[i - size] if i >= size else 0
        if kind == 1:
            line[i] = line[i] + a & 255
        elif kind == 2:
            line[i] = line[i] + b & 255
        elif kind == 3:
            line[i] = line[i] + (a + b) // 2 & 255
        elif kind == 4:
            line[i] = line[i] + min((a, b, c), key=lambda x: abs(a + b - c - x)) & 255
    return line
