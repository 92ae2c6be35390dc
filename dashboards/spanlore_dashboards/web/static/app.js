// Keyboard, the panel beside the timeline, and what changes while an agent runs. Every page works without this file.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

  // A login that has ended leads to its page, which is no piece of this one.
  const ask = async (address, options) => {
    const answer = await fetch(address, options);
    if (!answer.redirected) return answer;
    location.reload();
    throw new Error("logged out");
  };

  // --- theme, help, copying -----------------------------------------------------------------------------------
  const switchTheme = () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    document.dispatchEvent(new CustomEvent("theme"));
  };
  $("#theme")?.addEventListener("click", switchTheme);
  $("#help")?.addEventListener("click", () => $("#keys").showModal());
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    navigator.clipboard?.writeText(button.dataset.copy);
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 1200);
  });

  // What is wider than the screen can be scrolled by keys, too.
  for (const box of all(".scroll, .card.pad")) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;

  // --- filters ------------------------------------------------------------------------------------------------
  // Fields at their first value are left out, so that an address says only what was chosen.
  const submitLean = (form) => {
    const isFirst = (field) => form.dataset.auto === "lean" && field.selectedIndex === 0;
    for (const field of all("select, input", form)) field.disabled = field.value === "" || isFirst(field);
    form.submit();
  };
  for (const form of all("form[data-auto]")) {
    form.addEventListener("change", (event) => event.target.matches("select") && submitLean(form));
    form.addEventListener("submit", (event) => { event.preventDefault(); submitLean(form); });
  }
  addEventListener("pageshow", () => all("form[data-auto] :disabled").forEach((field) => { field.disabled = false; }));

  // The way back from a session or a memory leads to the list as it was filtered, in this tab.
  const lists = { "/sessions": "sessions", "/memories": "memories" };
  if (lists[location.pathname]) {
    const fields = new URLSearchParams(location.search);
    for (const name of ["done", "id"]) fields.delete(name);
    sessionStorage.setItem(lists[location.pathname], String(fields));
  }
  const crumb = $(".crumbs a");
  const filters = crumb && sessionStorage.getItem(lists[crumb.pathname]);
  if (filters) crumb.search = filters;

  // --- rows ---------------------------------------------------------------------------------------------------
  const isSeen = (row) => row.matches("a.bar, [data-later]") || row.offsetParent !== null;
  const rows = () => all("[data-row], [data-later]").filter(isSeen);
  const rowOf = (element) => element?.closest?.("[data-row]") ?? null;
  let chosen = null;
  const focusRow = (row) => {
    if (!row) return;
    chosen = row;
    const target = row.matches("details") ? $("summary", row) : row;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest" });
    if (row.dataset.span && $("#split")?.classList.contains("open")) openSoon(row);
  };
  const failed = (row) => row.classList.contains("failure");
  const step = (by, accept = () => true) => {
    const list = rows();
    const at = list.indexOf(rowOf(document.activeElement) ?? $(".bar.on") ?? (list.includes(chosen) ? chosen : null));
    for (let n = at < 0 && by < 0 ? list.length - 1 : at + by; n >= 0 && n < list.length; n += by) {
      const place = list[n];
      if (place.dataset.later) {
        if (accept === failed && place.dataset.failures === "0") continue;
        load(place).then((isThere) => isThere && step(by, accept));
        return;
      }
      if (accept(place)) return focusRow(place);
    }
  };

  // --- what comes later -----------------------------------------------------------------------------------------
  // A long session's page has its first rows; others are fetched when they come near, and those of a timeline also
  // while nothing else is to be done, so that the browser's own search finds them.
  const FILLED_ROWS = 5000, AT_ONCE = 8, NEAR = "1200px";
  const loading = new WeakMap();
  const fetched = async (places) => {
    const fields = places.map((place) => place.dataset.later.split("?")[1]).join("&");
    const [kind] = places[0].dataset.later.split("?");
    try {
      const answer = await ask(`${places[0].closest("[data-base]").dataset.base}/${kind}?${fields}`);
      if (!answer.ok) return false;
      const made = document.createElement("template");
      made.innerHTML = await answer.text();
      const pieces = [...made.content.children];
      if (pieces.length !== places.length) return false;
      places.forEach((place, n) => place.isConnected && place.replaceWith(pieces[n]));
      const span = new URLSearchParams(location.search).get("span");
      if (span) document.getElementById(`s-${span}`)?.classList.add("on");
      return true;
    } catch { return false; /* the daemon is away; the link in its place still works */ }
  };
  const load = (...places) => {
    const [first] = places;
    if (!loading.has(first)) {
      const done = fetched(places).finally(() => places.forEach((place) => loading.delete(place)));
      places.forEach((place) => loading.set(place, done));
    }
    return loading.get(first);
  };
  const near = new IntersectionObserver(
    (seen) => seen.filter((entry) => entry.isIntersecting).forEach((entry) => load(entry.target)), { rootMargin: NEAR });
  const watch = () => all("[data-later]").forEach((place) => near.observe(place));
  const whenIdle = globalThis.requestIdleCallback ?? ((work) => setTimeout(work, 200));
  const fill = () => {
    const places = all("#timeline [data-later]").filter((place) => !loading.has(place)).slice(0, AT_ONCE);
    if (!places.length || document.hidden || document.getElementsByClassName("bar").length > FILLED_ROWS) return;
    load(...places).then((isThere) => isThere && whenIdle(fill, { timeout: 1000 }));
  };
  watch();
  addEventListener("load", () => setTimeout(() => whenIdle(fill), 300));

  // --- the panel ----------------------------------------------------------------------------------------------
  const split = $("#split"), panel = $("#panel"), timeline = $("#timeline");
  let asked = 0, soon = 0;
  const mark = (span) => {
    all(".bar.on").forEach((bar) => bar.classList.remove("on"));
    if (span) document.getElementById(`s-${span}`)?.classList.add("on");
  };
  const open = async (span) => {
    const mine = ++asked;
    mark(span);
    let html = "", why = "away";
    try {
      const answer = await ask(`${timeline.dataset.base}/spans/${encodeURIComponent(span)}`);
      if (answer.ok) html = await answer.text();
      if (answer.status === 404) why = "gone";
    } catch { /* the page's process is away */ }
    if (mine !== asked) return;
    panel.innerHTML = html || $("#no-span").innerHTML;
    all("[data-when]", panel).forEach((line) => { line.hidden = line.dataset.when !== why; });
    panel.dataset.span = html ? span : "";
    panel.scrollTop = 0;
    const keep = document.activeElement;
    split.classList.add("open");
    keep?.scrollIntoView?.({ block: "nearest" });
    if (html) history.replaceState(null, "", `${timeline.dataset.base}?span=${encodeURIComponent(span)}`);
  };
  const openSoon = (row) => { clearTimeout(soon); soon = setTimeout(() => open(row.dataset.span), 90); };
  const close = () => {
    const back = panel.contains(document.activeElement) ? $(".bar.on") ?? chosen : null;
    split.classList.remove("open");
    mark("");
    back?.focus({ preventScroll: true });
    history.replaceState(null, "", timeline.dataset.base);
  };
  timeline?.addEventListener("click", (event) => {
    const bar = event.target.closest("a.bar");
    if (!bar || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    // Once more on the row that is open: into its panel, which is a long way off for the Tab key.
    if (split.classList.contains("open") && panel.dataset.span === bar.dataset.span) return panel.focus({ preventScroll: true });
    bar.focus({ preventScroll: true });
    open(bar.dataset.span);
  });
  panel?.addEventListener("click", (event) => event.target.closest("[data-close]") && close());
  if ($(".bar.on")) $(".bar.on").scrollIntoView({ block: "center" });
  if (location.hash.startsWith("#c-")) {
    const place = document.getElementById(location.hash.slice(1)) ?? document.getElementById(`turn-${location.hash.slice(3)}`);
    if (place?.matches("details")) place.open = true;
    place?.scrollIntoView({ block: "center" });
  }

  // --- while an agent runs ------------------------------------------------------------------------------------
  // Only the turns that changed are exchanged, so the place on the page and the open span stay.
  const POLL_MS = 2000;
  let etag = "";
  // Rows that are there stay: those that did not change, and changed ones until their new ones have come.
  const renew = (old, fresh) => {
    const known = new Map(all(".bars", old).map((bars) => [bars.dataset.first, bars]));
    for (const bars of all(".bars", fresh)) {
      const before = known.get(bars.dataset.first);
      if (!before || before.classList.contains("later")) continue;
      if (before.dataset.sum !== bars.dataset.sum) {
        if (!bars.dataset.later) continue;
        before.dataset.later = bars.dataset.later;
        before.dataset.sum = bars.dataset.sum;
      }
      bars.replaceWith(before);
    }
    old.replaceWith(fresh);
  };
  const exchange = (html) => {
    const focused = document.activeElement?.id;
    const fresh = document.createElement("div");
    fresh.innerHTML = html;
    const head = $(".session-head", fresh);
    for (const part of all("[data-fresh]", head)) {
      const old = $(`.session-head [data-fresh="${part.dataset.fresh}"]`);
      if (old.innerHTML !== part.innerHTML) old.innerHTML = part.innerHTML;
    }
    head.remove();
    const current = new Map(all("section.turn", timeline).map((section) => [section.id, section]));
    const fresher = all("section.turn", fresh);
    if (fresher.some((section, n) => n < current.size && !current.has(section.id)) || current.size === 0) {
      timeline.replaceChildren(...fresh.childNodes);
    } else {
      for (const section of fresher) {
        const old = current.get(section.id);
        if (!old) timeline.append(section);
        else if (old.dataset.sum !== section.dataset.sum) renew(old, section);
      }
      $(".strip-box", timeline)?.replaceWith($(".strip-box", fresh));
    }
    const span = new URLSearchParams(location.search).get("span");
    if (span) mark(span);
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    watch();
  };
  const tellAway = (isAway) => {
    const chip = $("[data-live]");
    if (!chip || chip.classList.contains("away") === isAway) return;
    chip.classList.toggle("away", isAway);
    chip.textContent = isAway ? "no answer, trying again" : "live";
  };
  const SELDOM = 15;
  let looks = 0;
  const poll = async () => {
    if (document.hidden) return;
    // One that has ended may be taken up again.
    if (!$("[data-live]") && $("section.turn", timeline) && ++looks % SELDOM) return;
    try {
      const answer = await ask(timeline.dataset.url, { headers: etag ? { "If-None-Match": etag } : {}, cache: "no-store" });
      tellAway(![200, 304].includes(answer.status));
      if (answer.status !== 200) return;
      etag = answer.headers.get("ETag") ?? "";
      exchange(await answer.text());
    } catch { tellAway(true); /* the daemon restarts; the next look tells */ }
  };
  if (timeline && ($("[data-live]") || !$("section.turn", timeline))) setInterval(poll, POLL_MS);

  // --- folding ------------------------------------------------------------------------------------------------
  const unfold = () => {
    const calls = all("details.call");
    const isAnyShut = calls.some((call) => !call.open);
    calls.forEach((call) => { call.open = isAnyShut; });
    const button = $("[data-unfold]");
    if (button) button.textContent = isAnyShut ? "Fold all tool calls" : "Unfold all tool calls";
  };
  $("[data-unfold]")?.addEventListener("click", unfold);

  // --- keys ---------------------------------------------------------------------------------------------------
  const PAGES = { s: "/sessions", m: "/memories", f: "/search", c: "/cost", h: "/health" };
  const turnStep = (by) => {
    const link = $(by > 0 ? "a[rel=next]" : "a[rel=prev]");
    const turns = all("section.turn, section.talk-turn");
    const next = by > 0
      ? turns.find((turn) => turn.getBoundingClientRect().top > 140)
      : turns.findLast((turn) => turn.getBoundingClientRect().top < 60);
    if (next) next.scrollIntoView();
    else if (link) location.assign(link.href);
  };
  let isGoing = false;
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if ($("dialog[open]")) return;
      if (isTyping(event.target)) event.target.blur();
      else if (split?.classList.contains("open")) close();
      return;
    }
    if (isTyping(event.target) || event.metaKey || event.ctrlKey || event.altKey || $("dialog[open]")) return;
    if (isGoing && PAGES[event.key]) { isGoing = false; return location.assign(PAGES[event.key]); }
    isGoing = false;
    const keys = {
      g: () => { isGoing = true; setTimeout(() => { isGoing = false; }, 1200); },
      "/": () => { const field = $("[data-search]"); if (field) { field.focus(); field.select(); } else location.assign("/search"); },
      "?": () => $("#keys").showModal(),
      j: () => step(1), ArrowDown: () => step(1),
      k: () => step(-1), ArrowUp: () => step(-1),
      x: () => step(1, failed), X: () => step(-1, failed),
      "]": () => turnStep(1), "[": () => turnStep(-1),
      t: () => { const other = $("[data-tab]:not([aria-current])"); if (other) location.assign(other.href); },
      o: unfold,
      d: switchTheme,
    };
    if (event.key.startsWith("Arrow") && (!$("[data-row]") || panel?.contains(event.target))) return;
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
})();
