// Films of what the view shows: video where the browser records it, or pictures of all frames in a zip archive.

const RATE = 30; // frames per second
const SWINGS = 2; // of a mode in a film
const MOST_FRAMES = 5400;
const START_OF_ENCODER = 20000; // ms, for an encoder that starts
const SMALLEST_VIDEO = 1000; // bytes: a video file without a frame has fewer
const VIDEOS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"];

class Film {
  constructor(player, title) {
    Object.assign(this, { player, title });
    this.running = false;
    this.canvas = document.createElement("canvas");
    this.canvas.width = 2; // until it has a size, as video wants it
    this.canvas.height = 2;
    this.buttons = element("div", { className: "views" }, this.button("film", "video"), this.button("frames", "frames"));
  }

  button(text, kind) {
    const title = kind === "video" ? "A video of the whole motion, or of two swings of a mode (WebM); again: stop" : "All frames as pictures (PNG in a zip archive); again: stop";
    const made = element("button", { type: "button", title }, text);
    made.onclick = async () => {
      if (this.running) {
        this.running = false;
        return;
      }
      const blob = await this.record(kind, (part) => (made.textContent = `stop ${Math.round(100 * part)} %`));
      made.textContent = text;
      const link = element("a", { href: URL.createObjectURL(blob), download: `${this.name()}.${blob.type.includes("webm") ? "webm" : blob.type.includes("mp4") ? "mp4" : "zip"}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    };
    return made;
  }

  /** Of the file. */
  name() {
    const mode = this.player.kind === "modes" ? ` mode ${this.player.mode}` : "";
    return (this.title + mode).toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_|_$/g, "") || "femb";
  }

  /** The number of frames of all of it. */
  count() {
    const { kind, first, last, speed } = this.player;
    const seconds = kind === "modes" ? SWINGS / SWINGS_A_SECOND : (last - first) / speed;
    return Math.max(2, Math.min(MOST_FRAMES, Math.round(seconds * RATE) + (kind === "modes" ? 0 : 1)));
  }

  /** Records "video" or "frames"; the file as a Blob. told(part) : called with the part that is done. */
  async record(kind, told = () => {}) {
    const type = kind === "video" && window.MediaRecorder && this.canvas.captureStream && VIDEOS.find((each) => MediaRecorder.isTypeSupported(each));
    const { player } = this;
    const [time, phase] = [player.time, player.phase];
    player.play(false);
    this.running = true;
    try {
      const { width, height } = player.viewer.renderer.domElement;
      [this.canvas.width, this.canvas.height] = [width - (width % 2), height - (height % 2)];
      return await (type ? this.video(type, told) : this.frames(told));
    } finally {
      this.running = false;
      player.phase = phase;
      player.seek(time);
    }
  }

  async video(type, told) {
    const [stream, parts, count] = [this.canvas.captureStream(0), [], this.count()];
    this.draw(0, count);
    const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: 12e6 });
    let arrived;
    recorder.ondataavailable = (event) => (parts.push(event.data), arrived());
    const ended = new Promise((done) => (recorder.onstop = done));
    recorder.start();
    // The first frame stays until the encoder has written it: a busy computer starts it after all frames of a short film.
    for (const latest = performance.now() + START_OF_ENCODER; this.running && performance.now() < latest; ) {
      stream.getVideoTracks()[0].requestFrame();
      await painted();
      const data = new Promise((done) => (arrived = done));
      recorder.requestData();
      await data;
      if (parts.reduce((sum, part) => sum + part.size, 0) > SMALLEST_VIDEO) break;
    }
    arrived = () => {};
    // In real time: a computer that draws slowly leaves out frames, and the video keeps its speed.
    const start = performance.now();
    for (let k = 0; k < count && this.running; ) {
      this.draw(k, count);
      stream.getVideoTracks()[0].requestFrame();
      await painted(); // the browser takes the frame then
      told((k + 1) / count);
      await new Promise((done) => setTimeout(done, Math.max(1, start + ((k + 1) * 1000) / RATE - performance.now())));
      const due = Math.max(k + 1, Math.round(((performance.now() - start) * RATE) / 1000));
      k = k < count - 1 ? Math.min(due, count - 1) : count;
    }
    await painted();
    recorder.stop();
    await ended;
    return new Blob(parts, { type: type.split(";")[0] });
  }

  async frames(told) {
    const [files, count] = [[], this.count()];
    for (let k = 0; k < count && this.running; k++) {
      this.draw(k, count);
      const picture = await new Promise((done) => this.canvas.toBlob(done, "image/png"));
      files.push([`frame_${String(k).padStart(5, "0")}.png`, new Uint8Array(await picture.arrayBuffer())]);
      told((k + 1) / count);
    }
    return zipped(files);
  }

  /** Draws frame k of a count: the view, its colours, time and title. */
  draw(k, count) {
    const { player, canvas } = this;
    if (player.kind === "modes") {
      player.phase = (2 * Math.PI * SWINGS * k) / count;
      player.show();
    } else {
      player.seek(player.first + ((player.last - player.first) * k) / (count - 1));
    }
    player.viewer.render();
    const [pen, { width, height }] = [canvas.getContext("2d"), canvas];
    const size = Math.max(11, Math.round(height / 40));
    pen.fillStyle = themeColour("--paper");
    pen.fillRect(0, 0, width, height);
    pen.drawImage(player.viewer.renderer.domElement, 0, 0);
    pen.fillStyle = themeColour("--ink");
    pen.font = `${size}px system-ui, sans-serif`;
    pen.textBaseline = "top";
    pen.fillText(this.title, size, size);
    pen.textAlign = "right";
    pen.fillText(player.clock.textContent, width - size, height - 2 * size);
    pen.textAlign = "left";
    if (player.scale) this.drawScale(pen, player.scale, size, width);
  }

  drawScale(pen, scale, size, width) {
    const { title, labels } = scale.words();
    const [left, across] = [width - 17 * size, 16 * size];
    pen.fillText(title, left, size);
    const band = pen.createLinearGradient(left, 0, left + across, 0);
    scale.stops.forEach((stop, k) => band.addColorStop(k / (scale.stops.length - 1), stop));
    pen.fillStyle = band;
    pen.fillRect(left, 2.4 * size, across, 0.7 * size);
    pen.fillStyle = themeColour("--ink");
    labels.forEach((label, k) => {
      pen.textAlign = ["left", "center", "right"][k];
      pen.fillText(label, left + (k * across) / 2, 3.3 * size);
    });
    pen.textAlign = "left";
  }
}

/** Ends when the browser has painted, or after half a second: pages in the background are not painted. */
function painted() {
  const twice = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
  return new Promise((done) => [twice(done), setTimeout(done, 500)]);
}

/** A zip archive, without compression, of [name, bytes]. */
function zipped(files) {
  const number = (value, bytes) => Array.from({ length: bytes }, (_, k) => (value >>> (8 * k)) & 255);
  const [parts, entries] = [[], []];
  let at = 0;
  for (const [name, bytes] of files) {
    const letters = new TextEncoder().encode(name);
    // version, flags, method, time and date (1980-01-01), checksum, sizes, length of the name and of what follows
    const head = [20, 0, 0, 0, 0, 0, 0, 0, 33, 0, ...number(checksum(bytes), 4), ...number(bytes.length, 4), ...number(bytes.length, 4), ...number(letters.length, 2), 0, 0];
    parts.push(Uint8Array.from([0x50, 0x4b, 3, 4, ...head]), letters, bytes);
    entries.push(Uint8Array.from([0x50, 0x4b, 1, 2, 20, 0, ...head, ...number(0, 10), ...number(at, 4)]), letters);
    at += 30 + letters.length + bytes.length;
  }
  const size = entries.reduce((sum, each) => sum + each.length, 0);
  const end = [0x50, 0x4b, 5, 6, 0, 0, 0, 0, ...number(files.length, 2), ...number(files.length, 2), ...number(size, 4), ...number(at, 4), 0, 0];
  return new Blob([...parts, ...entries, Uint8Array.from(end)], { type: "application/zip" });
}

/** CRC-32 of bytes. */
function checksum(bytes) {
  checksum.table ||= Uint32Array.from({ length: 256 }, (_, n) => {
    let value = n;
    for (let k = 0; k < 8; k++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
    return value;
  });
  let value = ~0;
  for (const byte of bytes) value = checksum.table[(value ^ byte) & 255] ^ (value >>> 8);
  return ~value >>> 0;
}

/** The first, the middle and the last pose as pictures, one above the other, in place of the view on paper. */
function posesOf(player) {
  const [time, playing] = [player.time, player.playing];
  player.play(false);
  const pictures = [0, 0.5, 1].map((part) => {
    player.seek(player.first + part * (player.last - player.first));
    player.viewer.render();
    const src = player.viewer.renderer.domElement.toDataURL();
    return element("figure", {}, element("img", { src, alt: player.text() }), element("figcaption", {}, player.text()));
  });
  player.seek(time);
  player.play(playing);
  return [player.legend.cloneNode(true), ...pictures];
}
