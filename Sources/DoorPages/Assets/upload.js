"use strict";
(() => {
  const form = document.getElementById("drop");
  if (!form) return;
  const list = document.getElementById("transfers");
  const inputs = form.querySelectorAll("input[type=file]");
  const endpoint = form.dataset.endpoint;
  const slice = 8 << 20;
  const ended = ["done", "cancelled", "refused"];
  const units = ["B", "kB", "MB", "GB", "TB"];
  const size = (count) => {
    let unit = 0;
    while (count >= 999.5 && unit < 4) { count /= 1000; unit += 1; }
    return (unit && count < 9.95 ? count.toFixed(1) : Math.round(count)) + " " + units[unit];
  };
  const duration = (s) => s < 60 ? Math.ceil(s) + " s" : s < 3600 ? Math.ceil(s / 60) + " min" : (s / 3600).toFixed(1) + " h";
  const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  const option = () => form.querySelector("select[name=route]")?.selectedOptions[0];
  const limit = () => Number(option()?.dataset.max || form.dataset.max);

  // A file that was begun before a reload continues at the offset of the server.
  const keyOf = (file, path) => "sluice-upload " + [endpoint, option()?.value, path, file.size, file.lastModified].join("|");
  const stored = (verb, ...rest) => { try { return localStorage[verb + "Item"](...rest); } catch { return null; } };

  const element = (name, className = "", textContent = "") =>
    Object.assign(document.createElement(name), { className, textContent });

  class Transfer {
    constructor(file, path, key) {
      this.file = file;
      this.path = path;
      this.key = key;
      this.routeName = option()?.value || "";
      this.url = stored("get", this.key);
      this.offset = 0;
      this.state = "waiting";
      this.failures = 0;
      this.samples = [];
      const row = this.row = element("li", "running");
      const name = element("span", "grow");
      name.append(element("bdi", "", path));
      this.bar = element("progress");
      this.bar.max = 1000;
      this.bar.ariaLabel = "Progress of " + path;
      const prog = element("span", "prog");
      this.share = element("span", "num", "0 %");
      prog.append(this.bar, this.share);
      this.word = element("span", "upstate");
      this.toggle = element("button", "quiet", "pause");
      this.end = element("button", "quiet", "cancel");
      for (const button of [this.toggle, this.end]) button.type = "button";
      this.toggle.onclick = () => ["paused", "failed"].includes(this.state) ? this.resume() : this.pause();
      this.end.onclick = () => this.cancel();
      row.append(name, element("span", "num dim", size(file.size)), prog, this.word, this.toggle, this.end);
      list.append(row);
      this.show();
    }

    show(text) {
      const value = this.file.size ? Math.floor(this.offset / this.file.size * 1000) : 1000;
      this.bar.value = value;
      this.share.textContent = Math.floor(value / 10) + " %";
      this.row.dataset.state = this.state;
      this.toggle.textContent = this.state === "paused" ? "resume" : this.state === "failed" ? "try again" : "pause";
      for (const button of [this.toggle, this.end]) button.ariaLabel = button.textContent + " " + this.path;
      this.toggle.hidden = this.end.hidden = ended.includes(this.state);
      this.word.classList.toggle("bad", this.state === "failed" || this.state === "refused");
      this.word.textContent = text || this.state;
      if (this.state === "done" && this.routeName && this.url) {
        const link = element("a", "", "its command");
        link.href = document.body.dataset.root + "commands/" + this.url.split("/").pop();
        this.word.append(" · ", link);
      }
    }

    rate(offset) {
      const now = performance.now();
      this.samples.push([now, offset]);
      while (this.samples.length > 2 && now - this.samples[0][0] > 5000) this.samples.shift();
      const [time, bytes] = this.samples[0];
      const rate = now > time ? (offset - bytes) / (now - time) * 1000 : 0;
      return rate > 0 ? size(rate) + "/s, " + duration((this.file.size - offset) / rate) + " left" : "sending";
    }

    request(method, url, headers, body, progress) {
      return new Promise((resolve, reject) => {
        const xhr = this.xhr = new XMLHttpRequest();
        xhr.open(method, url);
        xhr.setRequestHeader("Tus-Resumable", "1.0.0");
        for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
        if (progress) xhr.upload.onprogress = progress;
        xhr.onload = () => xhr.status === 401
          ? reject(Object.assign(new Error("the session has ended: log in in another tab, then try again"), { isOver: true }))
          : resolve(xhr);
        xhr.onerror = () => reject(new Error("no connection"));
        xhr.onabort = () => reject(new Error("stopped"));
        xhr.send(body);
      });
    }

    // Room on the disk (507) does not come by waiting.
    refusal(xhr) {
      let reason;
      try { reason = JSON.parse(xhr.responseText).detail; } catch { /* Not of the door. */ }
      const isFinal = xhr.status < 500 && ![408, 409, 423, 425, 429].includes(xhr.status);
      return Object.assign(new Error(reason || "status " + xhr.status), { isFinal, isOver: xhr.status === 507 });
    }

    async create() {
      const pairs = [["filename", this.file.name], ["filetype", this.file.type]];
      if (this.path !== this.file.name) pairs.push(["relativePath", this.path]);
      const metadata = pairs.filter(([, value]) => value).map(([name, value]) => name + " " + base64(value)).join(",");
      const url = endpoint + (this.routeName ? "?route=" + encodeURIComponent(this.routeName) : "");
      // A repeated creation finds its upload.
      this.creation ||= crypto.getRandomValues(new Uint8Array(16)).join("-");
      const xhr = await this.request("POST", url, {
        "Upload-Length": String(this.file.size), "Upload-Metadata": metadata, "Idempotency-Key": '"' + this.creation + '"',
      });
      if (xhr.status !== 201) throw this.refusal(xhr);
      this.url = new URL(xhr.getResponseHeader("Location"), location.href).pathname;
      stored("set", this.key, this.url);
      this.creation = "";
      this.offset = 0;
    }

    async find() {
      const xhr = await this.request("HEAD", this.url, {});
      const offset = Number(xhr.getResponseHeader("Upload-Offset"));
      const isSame = Number(xhr.getResponseHeader("Upload-Length")) === this.file.size;
      const isThere = [200, 204].includes(xhr.status);
      if (isThere && isSame && offset >= 0) { this.offset = offset; return; }
      if (!isThere && ![404, 410].includes(xhr.status)) throw this.refusal(xhr);
      stored("remove", this.key);
      this.url = null;
    }

    async send() {
      if (this.url) await this.find();
      if (!this.url) await this.create();
      this.samples = [];
      while (this.offset < this.file.size && this.state === "sending") {
        const start = this.offset;
        const part = this.file.slice(start, start + slice);
        const xhr = await this.request("PATCH", this.url, {
          "Content-Type": "application/offset+octet-stream", "Upload-Offset": String(start),
        }, part, (event) => {
          this.offset = start + Math.min(event.loaded, part.size);
          this.show(this.rate(this.offset));
        });
        this.offset = start;
        if (xhr.status !== 204) throw this.refusal(xhr);
        this.offset = Number(xhr.getResponseHeader("Upload-Offset"));
        this.failures = 0;
        this.show(this.rate(this.offset));
      }
    }

    async run() {
      this.state = "sending";
      while (this.state === "sending") {
        try {
          this.show("connecting");
          await this.send();
          if (this.state !== "sending") break;
          this.state = "done";
          stored("remove", this.key);
          this.show("done");
        } catch (error) {
          if (this.state !== "sending") break;
          if (error.isFinal) { this.state = "refused"; stored("remove", this.key); this.show(error.message); break; }
          if (++this.failures > 20 || error.isOver) { this.state = "failed"; this.show(error.message); break; }
          const wait = Math.min(500 * 2 ** this.failures, 15000) * (0.75 + Math.random() / 2);
          this.show(error.message + ", again in " + duration(wait / 1000));
          await new Promise((resolve) => { this.wake = resolve; setTimeout(resolve, wait); });
        }
      }
      queue.next();
    }

    pause() {
      const runs = this.state === "sending";
      this.state = "paused";
      this.show();
      if (runs) { this.xhr?.abort(); this.wake?.(); }
    }

    resume() { this.failures = 0; this.state = "waiting"; this.show(); queue.next(); }

    async cancel() {
      this.state = "cancelled";
      this.xhr?.abort();
      this.wake?.();
      stored("remove", this.key);
      this.show();
      if (this.url) { try { await this.request("DELETE", this.url, {}); } catch { /* It expires. */ } }
      queue.next();
    }
  }

  const queue = {
    transfers: [],
    add(file, path) {
      const key = keyOf(file, path);
      // A file that is chosen twice is one transfer.
      if (this.transfers.some((t) => t.key === key && !ended.includes(t.state))) return;
      const transfer = new Transfer(file, path, key);
      // The second would replace the first.
      const twin = option()?.dataset.named && this.transfers.find((t) => t.routeName === transfer.routeName
        && t.file.name === file.name && (t.path !== path || t.state !== "done") && !["cancelled", "refused"].includes(t.state));
      const problem = file.size > limit() ? "larger than " + size(limit()) + ", the limit"
        : twin && "the route sends it to the place of " + twin.path + ": rename it";
      if (problem) { transfer.state = "refused"; transfer.show(problem); } else this.transfers.push(transfer);
    },
    next() {
      const running = this.transfers.filter((t) => t.state === "sending").length;
      for (const t of this.transfers.filter((t) => t.state === "waiting").slice(0, Math.max(0, 2 - running))) t.run();
    },
  };
  const take = (files) => {
    for (const file of files) queue.add(file, file.webkitRelativePath || file.name);
    queue.next();
  };
  // A reader of a dropped folder gives at most 100 entries at a time.
  const walk = async (entry) => {
    if (entry.isFile) {
      const file = await new Promise((resolve) => entry.file(resolve, () => resolve(null)));
      if (file) queue.add(file, entry.fullPath.replace(/^\//, ""));
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const entries = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
      if (!entries.length) return;
      for (const next of entries) await walk(next);
    }
  };
  const takeTransfer = async (transfer) => {
    const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.());
    if (!entries.some((entry) => entry?.isDirectory)) return take(transfer.files);
    for (const entry of entries) if (entry) await walk(entry);
    queue.next();
  };

  for (const input of inputs) input.addEventListener("change", () => { take([...input.files]); input.value = ""; });
  const zone = document.documentElement;
  zone.addEventListener("dragover", (event) => { event.preventDefault(); form.classList.add("over"); });
  zone.addEventListener("dragleave", (event) => { if (!event.relatedTarget) form.classList.remove("over"); });
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    takeTransfer(event.dataTransfer);
  });
  document.addEventListener("paste", (event) => take(event.clipboardData.files));
  addEventListener("beforeunload", (event) => {
    if (queue.transfers.some((t) => t.state === "sending")) event.preventDefault();
  });
  for (const el of form.querySelectorAll("[data-plain]")) el.hidden = true;
})();
