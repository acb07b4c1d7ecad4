"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const body = document.body;

  // Times: the page has UTC, a reader has a zone. Swedish: 2026-11-29 09:02:03.
  const stamp = new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "medium" });
  const { timeZone } = stamp.resolvedOptions();
  const age = (milliseconds) => {
    const s = Math.max(0, Math.floor(milliseconds / 1000));
    return s < 60 ? s + "s" : s < 3600 ? Math.floor(s / 60) + "m"
      : s < 86400 ? Math.floor(s / 3600) + "h" : Math.floor(s / 86400) + "d";
  };
  const clock = (t) => stamp.format(t).slice(11);
  const localise = (root, selector = "time[datetime]") => {
    const now = new Date();
    for (const el of all(selector, root)) {
      const t = new Date(el.dateTime);
      if (isNaN(t)) continue;
      const full = stamp.format(t);
      const text = "age" in el.dataset ? age(now - t)
        : "exact" in el.dataset ? clock(t) + "." + String(t.getMilliseconds()).padStart(3, "0")
        : t.toDateString() === now.toDateString() ? clock(t) : full.slice(5, 16);
      if (el.textContent !== text) el.textContent = text;
      const title = full + " " + timeZone;
      if (el.title !== title) el.title = title;
    }
  };

  // An event makes a page read itself. Nothing moves under the pointer or the focus: a section in use stays but for
  // the values in it, and new rows of a list are only counted.
  const state = $("#live");
  let paused = false, port = null, isOpen = false, begun = 0, request = null, timer = 0, lastRead = 0;
  let last = Date.now(), stale = false, over = false;
  const say = (text, tone, href) => {
    if (!state) return;
    const word = $(".word", state);
    if (word.textContent !== text) {
      const link = href && document.createElement("a");
      if (link) { link.href = href; link.textContent = text; }
      word.replaceChildren(link || text);
    }
    state.className = "live " + tone;
  };
  const sayStale = () => {
    if (paused || over) return;
    stale = true;
    say("as of " + clock(new Date(last)) + ", reconnecting", "late");
  };
  const isHeld = (el) => el.matches(":hover") || el.contains(document.activeElement) && document.activeElement !== body
    || $("input:checked, details[open]", el) !== null;
  const morph = (to, from) => {
    if (to.isEqualNode(from)) return;
    if (to.nodeName !== from.nodeName) return to.replaceWith(document.importNode(from, true));
    if (to.nodeType === Node.TEXT_NODE) { to.data = from.data; return; }
    const isHere = to.classList.contains("here");
    for (const { name } of [...to.attributes]) if (!from.hasAttribute(name)) to.removeAttribute(name);
    for (const { name, value } of from.attributes) if (to.getAttribute(name) !== value) to.setAttribute(name, value);
    if (isHere) to.classList.add("here");
    const [old, next] = [[...to.childNodes], [...from.childNodes]];
    if (old.length === next.length) old.forEach((node, index) => morph(node, next[index]));
    else to.replaceChildren(...next.map((node) => document.importNode(node, true)));
  };
  const rowKey = (row) => row.dataset.row || $("a[href]", row).getAttribute("href");
  const index = (elements, key) => new Map(elements.map((el) => [key(el), el]));
  const list = () => all("#list tbody tr");
  const apply = (next) => {
    for (const el of all("[data-script]", next)) el.hidden = false;
    localise(next);
    for (const [name, isBusy] of [["s", isHeld], ["k", (el) => el.contains(document.activeElement)]]) {
      const others = index(all("[data-" + name + "]", next), (el) => el.dataset[name]);
      for (const el of all("[data-" + name + "]")) {
        const other = others.get(el.dataset[name]);
        if (other && !isBusy(el)) morph(el, other);
      }
    }
    const rows = index(all("#list tbody tr", next), rowKey);
    for (const row of list()) {
      const other = rows.get(rowKey(row));
      rows.delete(rowKey(row));
      if (!other) continue;
      [...row.cells].forEach((cell, column) => {
        if (!$("input, a", cell) && other.cells[column]) morph(cell, other.cells[column]);
      });
    }
    const more = $("#new");
    if (more && !new URLSearchParams(location.search).has("before")) {
      more.hidden = rows.size === 0;
      more.textContent = rows.size + (rows.size >= 50 ? "+" : "") + " new ▴";
    }
    last = Date.now();
    stale = over = false;
    if (paused) return;
    if (!$("#live.on", next)) say("no coordinator", "off");
    else if (isOpen) say("live", "on"); else say("every 2 s, without a stream", "late");
  };
  const read = () => {
    if (request || document.hidden || !state) return;
    lastRead = Date.now();
    const xhr = request = new XMLHttpRequest();
    xhr.open("GET", location.href);
    xhr.responseType = "document";
    xhr.timeout = 5000;
    xhr.onloadend = () => {
      request = null;
      const path = xhr.responseURL && new URL(xhr.responseURL).pathname;
      if (xhr.status === 200 && xhr.response && path === location.pathname) {
        if (paused) return;
        apply(xhr.response);
      } else if (path && path !== location.pathname) {
        over = true;
        stop();
        say("session ended: log in", "off", xhr.responseURL);
      } else if (xhr.status === 404) { over = true; say("not there any more", "off"); } else sayStale();
    };
    xhr.send();
  };
  const wanted = () => {
    if (paused || timer) return;
    const wait = Math.max(0, lastRead + 1000 - Date.now());
    timer = setTimeout(() => { timer = 0; if (!paused) read(); }, wait);
  };
  // A worker has the stream of all windows. Without one a page is read each 2 s.
  const types = globalThis.trustedTypes?.createPolicy("sluice", { createScriptURL: () => body.dataset.stream });
  const stop = () => { if (port) port.postMessage(""); isOpen = false; };
  const start = () => {
    if (paused || over || document.hidden || !state || !globalThis.SharedWorker) return;
    begun = Date.now();
    try {
      port ||= new SharedWorker(types ? types.createScriptURL("") : body.dataset.stream).port;
    } catch { return; }
    port.onmessage = ({ data }) => {
      if (isOpen && !data) sayStale();
      isOpen = data;
      wanted();
    };
    port.postMessage(body.dataset.events);
  };
  const tick = () => {
    localise(document, "time[data-age]");
    if (document.hidden || paused || !state) return;
    const now = Date.now();
    if (!isOpen && now - begun > 5000) start();
    if (now - lastRead > (over ? 10000 : isOpen && !stale ? 8000 : 2000)) wanted();
    if (now - last > 15000) sayStale();
  };
  const pause = () => {
    paused = !paused;
    for (const el of all("[data-pause]")) el.textContent = paused ? "Go on with updates" : "Pause updates";
    if (paused) { stop(); say("paused at " + clock(new Date(last)), "late"); } else { sayStale(); start(); read(); }
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return stop();
    if (Date.now() - last > 2000) sayStale();
    start();
    wanted();
  });
  addEventListener("pagehide", stop);

  const menus = () => all("header details[open]");
  const ticked = () => all("#list input[name=id]:checked");
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!button || !button.dataset.ask) return;
    const isOfList = button.form === $("#list");
    if (isOfList && $("[name=scope]:checked", button.form).value === "all") return;
    const count = ticked().length;
    const question = isOfList ? button.value + " " + count + (count === 1 ? " command?" : " commands?") : button.dataset.ask;
    if ((!isOfList || count) && !confirm(question[0].toUpperCase() + question.slice(1))) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = $("#" + CSS.escape(button.dataset.copy)).textContent;
    navigator.clipboard.writeText(text).then(() => { button.textContent = "copied"; });
  });
  $("#every")?.addEventListener("change", ({ target }) => {
    for (const box of all("#list input[name=id]")) box.checked = target.checked;
  });

  const rows = () => all("[data-row], #list tbody tr").filter((el) => el.offsetParent);
  const here = () => $(".here");
  const move = (step) => {
    const every = rows();
    if (!every.length) return;
    const next = Math.min(Math.max(every.indexOf(here()) + step, 0), every.length - 1);
    for (const el of every) el.classList.toggle("here", el === every[next]);
    const link = $("a[href]", every[next]);
    if (link) link.focus({ preventScroll: true });
    every[next].scrollIntoView({ block: "nearest" });
  };
  const verb = (name) => {
    const row = here();
    if (!row) return;
    const own = all("form button", row).find((el) => el.textContent.trim() === name);
    if (own) return own.form.requestSubmit(own);
    const button = $("#list button[value=" + name + "]");
    const box = $("input[name=id]", row);
    if (!button || !box) return;
    for (const other of ticked()) other.checked = false;
    box.checked = true;
    $("#list input[value=ticked]").checked = true;
    button.form.requestSubmit(button);
  };
  const act = (key, name) => {
    const button = $(".acts button[data-key=" + key + "]");
    if (button) button.form.requestSubmit(button); else verb(name);
  };
  let goes = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = event.target.closest("input:not([type=checkbox]):not([type=radio]), select, textarea");
    if (event.key === "Escape") {
      if (field) field.blur();
      for (const menu of menus()) { menu.open = false; $("summary", menu).focus(); }
      return;
    }
    if (field) return;
    const link = Date.now() - goes < 1500 && $("nav [data-go='" + CSS.escape(event.key) + "']");
    if (link) { goes = 0; location.assign(link.href); return; }
    switch (event.key) {
      case "/": {
        const box = $("#search");
        if (!box) break;
        event.preventDefault();
        $("header details.pages").open = true;
        box.focus();
        box.select();
        break;
      }
      case "j": move(1); break;
      case "k": move(-1); break;
      case "x": { const box = here() && $("input[name=id]", here()); if (box) box.checked = !box.checked; break; }
      case "r": act("r", "retry"); break;
      case "c": act("c", "cancel"); break;
      case "g": goes = Date.now(); break;
      case "p": pause(); break;
      case "?": location.assign(body.dataset.root + "keys"); break;
      default:
    }
  });
  for (const el of all("[data-pause]")) el.addEventListener("click", pause);

  const clean = new URL(location.href);
  clean.searchParams.delete("notice");
  history.replaceState(null, "", clean);
  for (const el of all("[data-script]")) el.hidden = false;
  localise(document);
  setInterval(tick, 1000);
  start();
})();
