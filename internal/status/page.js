"use strict";
// Takes over what has changed, part by part, so that focus, selection, scrolling and
// opened lists stay as they are. Without it the page is complete, and shows the
// moment at which it was loaded.
(() => {
  const every = 2000;
  const live = document.getElementById("live");
  const patience = 10000;
  let tag = "";
  let looking = false;

  const say = (text, state) => {
    if (live.textContent !== text) live.textContent = text;
    live.dataset.state = state;
  };

  const main = (of) => of.querySelector("main");
  const parts = (of) => [...main(of).querySelectorAll("[data-part]")].map((p) => p.id).join();

  const take = (fresh) => {
    document.title = fresh.title;
    if (parts(document) !== parts(fresh)) main(document).replaceChildren(...document.importNode(main(fresh), true).childNodes);
    for (const now of document.querySelectorAll("[data-part]")) {
      const next = fresh.getElementById(now.id);
      if (!next || next.innerHTML === now.dataset.was) continue;
      const open = new Set([...now.querySelectorAll("details[open]")].map((d) => d.id));
      const held = now.contains(document.activeElement) && document.activeElement.closest("[id]").id;
      now.dataset.was = next.innerHTML;
      now.replaceChildren(...document.importNode(next, true).childNodes);
      for (const d of now.querySelectorAll("details")) d.open = open.has(d.id);
      const holder = held && document.getElementById(held);
      if (holder) (holder.querySelector(":scope > summary") ?? holder).focus({ preventScroll: true });
    }
  };

  const look = async () => {
    if (document.hidden || looking) return;
    looking = true;
    try {
      const answer = await fetch(location.pathname, { cache: "no-cache", signal: AbortSignal.timeout(patience) });
      if (!answer.ok) throw new Error(answer.statusText);
      const changed = answer.headers.get("ETag") !== tag;
      tag = answer.headers.get("ETag");
      const text = await answer.text();
      if (changed) take(new DOMParser().parseFromString(text, "text/html"));
      say("Live", "live");
    } catch {
      tag = "";
      say("No answer from the agent. Trying again.", "lost");
    } finally {
      looking = false;
    }
  };

  for (const part of document.querySelectorAll("[data-part]")) part.dataset.was = part.innerHTML;
  say("Live", "live");
  setInterval(look, every);
  document.addEventListener("visibilitychange", look);
})();
