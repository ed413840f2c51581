"""What a person waits for in the workspace, in a real Chromium."""

from __future__ import annotations

import statistics

#: Notes when Enter was pressed, when another run was drawn as chosen, and when the page said a new revision.
WATCH = """() => {
  window.drawn = window.kept = 0;
  const chosen = () => document.querySelector(".source .chosen")?.dataset.start;
  const revision = () => document.querySelector("[data-revision]").textContent;
  const old = chosen(), before = revision();
  addEventListener("keydown", (event) => {
    if (event.key === "Enter") window.began = performance.now();
  }, { capture: true });
  new MutationObserver((_, observer) => {
    const now = chosen();
    if (!window.drawn && now && now !== old) requestAnimationFrame(() => { window.drawn = performance.now(); });
    if (revision() !== before) {
      observer.disconnect();
      window.kept = performance.now();
    }
  }).observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true });
}"""

#: Reads on at ten screens a second from the moment the page is ready, and counts frames, and those with a gap in view.
SCROLL = """async (seconds) => {
  const source = document.getElementById("source"), began = performance.now();
  let frames = 0, gaps = 0;
  while (performance.now() - began < 1000 * seconds) {
    source.scrollTop = (source.clientHeight * (performance.now() - began)) / 100;
    await new Promise(requestAnimationFrame);
    frames += 1;
    const view = source.getBoundingClientRect();
    gaps += [...source.querySelectorAll(".waiting")].some((block) => {
      const box = block.getBoundingClientRect();
      return box.top < view.bottom && box.bottom > view.top;
    });
  }
  return [frames, gaps, source.scrollTop / source.clientHeight];
}"""
SCROLL_SECONDS = 6


def in_the_browser(task: int, cookie: str, port: int) -> dict[str, float]:
    """Return medians in milliseconds: until text can be read, the page is ready, a mark is drawn, and it is saved.

    Beside them: screens scrolled through at ten a second right after opening, frames drawn on the way, and how many of
    them showed a place that was not loaded yet.

    `task` is the assignment's key, `cookie` the Cookie header of its annotator.
    """
    from playwright.sync_api import sync_playwright

    from tests.browser import chromium

    base = f"http://127.0.0.1:{port}"
    figures: dict[str, list[float]] = {"readable": [], "ready": [], "drawn": [], "saved": []}
    with sync_playwright() as playwright:
        path = chromium.executable(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, args=chromium.FLAGS)
        for round_number in range(3):
            context = browser.new_context(base_url=base, viewport={"width": 1440, "height": 900})
            name, _, value = cookie.split(";", maxsplit=1)[0].partition("=")
            context.add_cookies([{"name": name, "value": value, "url": base}])
            page = context.new_page()
            page.add_init_script(
                """new MutationObserver((_, o) => { if (document.querySelector('.source [data-n]')) {
                  o.disconnect(); requestAnimationFrame(() => { window.readable = performance.now(); }); }
                }).observe(document, { childList: true, subtree: true });
                new MutationObserver((_, o) => { if (document.querySelector('[data-ready]')) {
                  o.disconnect(); window.ready = performance.now(); }
                }).observe(document, { childList: true, subtree: true, attributes: true });"""
            )
            page.goto(f"/tasks/{task}/")
            page.wait_for_selector("[data-ready]")
            page.wait_for_function("() => window.readable && window.ready")
            figures["readable"].append(page.evaluate("window.readable"))
            figures["ready"].append(page.evaluate("window.ready"))
            for press in range(4):
                number = 2 + press + 10 * round_number
                page.evaluate(WATCH)
                # A sentence is marked already by the 2,000: two together are a span of their own.
                for key in f"{number}-{number + 1}":
                    page.keyboard.press(key)
                page.keyboard.press("Enter")
                page.wait_for_function("() => window.kept && window.drawn")
                figures["drawn"].append(page.evaluate("window.drawn - window.began"))
                figures["saved"].append(page.evaluate("window.kept - window.began"))
                page.keyboard.press("Escape")
            if round_number == 2:
                page.goto(f"/tasks/{task}/")
                page.wait_for_selector("[data-ready]")
                frames, gaps, screens = page.evaluate(SCROLL, SCROLL_SECONDS)
            context.close()
        browser.close()
    return {f"browser_{name}_ms": round(statistics.median(values), 1) for name, values in figures.items()} | {
        "scroll_screens": round(screens, 1),
        "scroll_frames": frames,
        "scroll_frames_with_gaps": gaps,
    }
