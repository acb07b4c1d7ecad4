"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const two = (number) => String(number).padStart(2, "0");
  const body = document.body;

  // Times: the page has UTC, a reader has a zone.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const age = (milliseconds) => {
    const s = Math.max(0, Math.floor(milliseconds / 1000));
    return s < 60 ? s + "s" : s < 3600 ? Math.floor(s / 60) + "m"
      : s < 86400 ? Math.floor(s / 3600) + "h" : Math.floor(s / 86400) + "d";
  };
  const clock = (t) => two(t.getHours()) + ":" + two(t.getMinutes()) + ":" + two(t.getSeconds());
  const localise = (root) => {
    const now = new Date();
    for (const el of all("time[datetime]", root)) {
      const t = new Date(el.dateTime);
      if (isNaN(t)) continue;
      if (el.dataset.age) { el.textContent = age(now - t); continue; }
      const date = two(t.getMonth() + 1) + "-" + two(t.getDate());
      const text = el.dataset.exact ? clock(t) + "." + String(t.getMilliseconds()).padStart(3, "0")
        : t.toDateString() === now.toDateString() ? clock(t) : date + " " + clock(t).slice(0, 5);
      if (el.textContent !== text) el.textContent = text;
      if (!el.title.includes(zone)) el.title = t.getFullYear() + "-" + date + " " + clock(t) + " " + zone + " · " + el.title;
    }
  };

  // Live: a frame of the stream makes the page read itself again. Parts with the same key take the new values; sections
  // are replaced only while neither the pointer nor the focus is in them.
  const state = $("#live");
  let paused = false, source = null, busy = false, last = Date.now(), lastRead = 0, broken = false, timer = 0;
  const say = (text, tone) => {
    if (!state) return;
    const word = $(".word", state);
    if (word.textContent !== text) word.textContent = text;
    state.className = "live " + tone;
  };
  const isHeld = (el) => el.matches(":hover") || el.contains(document.activeElement) && document.activeElement !== body
    || $("input:checked, details[open]", el) !== null;
  const copy = (to, from) => {
    if (to.contains(document.activeElement) && to.childElementCount) return;
    for (const name of ["class", "value", "d", "datetime", "aria-label"]) {
      const value = from.getAttribute(name);
      if (value === null || to.getAttribute(name) === value) continue;
      to.setAttribute(name, value);
    }
    if (to.tagName === "PROGRESS" || to.tagName === "path") return;
    if (to.childElementCount || from.childElementCount) {
      if (to.innerHTML !== from.innerHTML) to.replaceChildren(...[...from.childNodes].map((n) => document.importNode(n, true)));
    } else if (to.textContent !== from.textContent) to.textContent = from.textContent;
  };
  const apply = (next) => {
    for (const section of all("[data-s]")) {
      const other = $("[data-s=\"" + CSS.escape(section.dataset.s) + "\"]", next);
      if (!other || isHeld(section) || section.innerHTML === other.innerHTML) continue;
      localise(other);
      section.replaceChildren(...[...other.childNodes].map((n) => document.importNode(n, true)));
    }
    const parts = new Map(all("[data-k]", next).map((el) => [el.dataset.k, el]));
    for (const el of all("[data-k]")) {
      const other = parts.get(el.dataset.k);
      if (other && el.dataset.k !== "live") { localise(other); copy(el, other); }
    }
    const list = $("#list");
    if (list && !new URLSearchParams(location.search).has("before")) {
      const known = new Set(all("[data-row]", list).map((el) => el.dataset.row));
      const count = all("#list [data-row]", next).filter((el) => !known.has(el.dataset.row)).length;
      const more = $("#new");
      if (more) { more.hidden = count === 0; more.textContent = count + (count >= 50 ? "+" : "") + " new ▴"; }
    }
    localise(document);
    const live = $("#live", next);
    const hears = live && live.classList.contains("on");
    last = Date.now();
    say(paused ? "paused" : hears ? "live" : "no coordinator", paused ? "late" : hears ? "on" : "off");
  };
  const read = () => {
    if (busy || document.hidden) return;
    busy = true;
    lastRead = Date.now();
    const url = new URL(location.href);
    url.searchParams.delete("notice");
    const xhr = new XMLHttpRequest();
    xhr.open("GET", url);
    xhr.responseType = "document";
    xhr.timeout = 10000;
    xhr.onloadend = () => {
      busy = false;
      const next = xhr.response;
      if (xhr.status === 200 && next && new URL(xhr.responseURL).pathname === url.pathname) {
        broken = false;
        apply(next);
      } else if (xhr.responseURL && new URL(xhr.responseURL).pathname !== url.pathname) {
        stop();
        say("the session has ended", "off");
      } else broken = true;
    };
    xhr.send();
  };
  const wanted = () => {
    if (paused || timer) return;
    const wait = Math.max(0, lastRead + 1000 - Date.now());
    timer = setTimeout(() => { timer = 0; if (!paused) read(); }, wait);
  };
  const stop = () => { if (source) source.close(); source = null; };
  const start = () => {
    stop();
    if (paused || document.hidden || !state || !body.dataset.events) return;
    source = new EventSource(body.dataset.events);
    source.onopen = () => { broken = false; };
    source.onmessage = wanted;
    for (const name of ["view", "state", "snapshot", "change"]) source.addEventListener(name, wanted);
    source.onerror = () => { broken = true; };
  };
  const tick = () => {
    localise(document);
    if (document.hidden || paused || !state) return;
    if (source && source.readyState === EventSource.CLOSED) start();
    if (Date.now() - last > 10000 && (!source || broken)) wanted();
    if (broken && Date.now() - last > 4000) say("as of " + clock(new Date(last)) + ", reconnecting", "late");
  };
  const pause = () => {
    paused = !paused;
    if (paused) { stop(); say("paused at " + clock(new Date()), "late"); } else { start(); read(); }
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop(); else if (!paused) { start(); wanted(); }
  });
  addEventListener("pagehide", stop);

  // Questions and copies.
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button && button.dataset.ask && !confirm(button.dataset.ask)) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = $("#" + CSS.escape(button.dataset.copy)).textContent;
    navigator.clipboard.writeText(text).then(() => { button.textContent = "copied"; });
  });

  // Keys.
  const rows = () => all("[data-row]").filter((el) => el.offsetParent);
  const here = () => $(".here");
  const move = (step) => {
    const list = rows();
    if (!list.length) return;
    const index = Math.min(Math.max(list.indexOf(here()) + step, 0), list.length - 1);
    for (const el of list) el.classList.toggle("here", el === list[index]);
    const link = $("a[href]", list[index]);
    if (link) link.focus({ preventScroll: true });
    list[index].scrollIntoView({ block: "nearest" });
  };
  const verb = (name) => {
    const row = here();
    if (!row) return;
    const own = all("form button", row).find((el) => el.textContent.trim() === name);
    if (own) return own.form.requestSubmit(own);
    const button = $("#list button[value=" + name + "]");
    const box = $("input[name=id]", row);
    if (!button || !box) return;
    box.checked = true;
    $("#list input[value=ticked]").checked = true;
    button.form.requestSubmit(button);
  };
  const pages = { o: "", c: "commands", l: "links", w: "workers", u: "uploads", f: "flows", s: "schedules", n: "upload" };
  let goes = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = event.target.closest("input:not([type=checkbox]):not([type=radio]), select, textarea");
    if (field) { if (event.key === "Escape") field.blur(); return; }
    if (Date.now() - goes < 1500 && event.key in pages) {
      goes = 0;
      location.assign(body.dataset.root + pages[event.key]);
      return;
    }
    switch (event.key) {
      case "/": { const box = $("#search"); if (box) { event.preventDefault(); box.focus(); box.select(); } break; }
      case "j": move(1); break;
      case "k": move(-1); break;
      case "x": { const box = here() && $("input[name=id]", here()); if (box) box.checked = !box.checked; break; }
      case "r": {
        const button = $(".acts button[data-key=r]");
        if (button) button.form.requestSubmit(button); else verb("retry");
        break;
      }
      case "c": {
        const button = $(".acts button[data-key=c]");
        if (button) button.form.requestSubmit(button); else verb("cancel");
        break;
      }
      case "g": goes = Date.now(); break;
      case "p": pause(); break;
      case "?": location.assign(body.dataset.root + "keys"); break;
      default:
    }
  });
  for (const el of all("[data-pause]")) el.addEventListener("click", pause);

  const clean = new URL(location.href);
  if (clean.searchParams.has("notice")) { clean.searchParams.delete("notice"); history.replaceState(null, "", clean); }
  for (const el of all("[data-script]")) el.hidden = false;
  localise(document);
  setInterval(tick, 1000);
  start();
})();
