"""Each view and state: axe, overflow, focus, bytes, console; and the pages without a script."""
import os

import axe_playwright_python
from browser import *
from selenium.webdriver.common.keys import Keys

axe = open(os.path.join(os.path.dirname(axe_playwright_python.__file__), "axe.min.js")).read()
tabbable = """
(() => {
  const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")];
  return all.filter((e) => e.checkVisibility({visibilityProperty: true}) && e.tabIndex >= 0 && !e.disabled
    && !(e.type === "radio" && !e.checked));
})()"""


crossing = """
(() => {
  const all = [...document.querySelectorAll("header .brand, header .pages > summary, header .live, header .menu > summary")];
  const boxes = all.filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect());
  return boxes.some((a, index) => boxes.slice(index + 1).some((b) =>
    a.right > b.left + 1 && b.right > a.left + 1 && a.bottom > b.top + 1 && b.bottom > a.top + 1));
})()"""


def details():
    """The pages of single things, found by the links of the lists."""
    found = []
    for path in ["/commands", "/links", "/flows", "/batches", "/limits"]:
        driver.get(base + path)
        found += [a.get_attribute("href").removeprefix(base) for a in find_all("td.c-name a")[:2]]
    check(any(path.startswith("/limits/") for path in found), f"a detail is missing: {found}")
    return found


def examine(what):
    """The present page in two widths and two colour schemes."""
    for width, scheme in [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]:
        size(width)
        media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
        over = driver.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        check(over <= 0, f"{what} at {width}: {over} px too wide")
        check(not evaluate(crossing), f"{what} at {width}: parts of the head lie over each other")
        if (width, scheme) == (390, "dark"):
            continue
        cdp("Runtime.evaluate", expression=axe)
        violations = evaluate(
            "axe.run().then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 160) + ' '"
            " + n.failureSummary).join(' | ')).join('\\n'))")
        check(violations == "", f"{what} at {width}, {scheme}: {violations}")
    moving = evaluate(
        "[...document.querySelectorAll('*')].filter((e) => getComputedStyle(e).transitionDuration !== '0s').length")
    check(moving == 0, f"{what}: {moving} elements move in spite of prefers-reduced-motion")


def check_console(what):
    entries = [e["message"] for e in driver.get_log("browser") if "favicon" not in e["message"]]
    check(not entries, f"{what}: the console has {entries}")


def walk(what):
    """The Tab key alone reaches each control, and shows where it is."""
    # An update of the page would remove the marks.
    evaluate("document.activeElement.blur()")
    if find_all("#live"):
        press("p")
        until("the pause", lambda: "paused" in text("#live"))
    count = evaluate(f"{tabbable}.length")
    for _ in range(count + 3):
        # A key sent to an element would be the name of a file where that is an input of files.
        for kind in ["rawKeyDown", "keyUp"]:
            cdp("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        evaluate("""(() => {
            const e = document.activeElement;
            if (e && e !== document.body) e.dataset.seen = getComputedStyle(e).outlineStyle === "none" ? "bare" : "ring";
        })()""")
    missed = evaluate(f"{tabbable}.filter((e) => e.dataset.seen !== 'ring').map((e) => e.outerHTML.slice(0, 120))")
    check(not missed, f"{what}: the Tab key does not reach {missed}")


def views():
    log_in()
    check_console("the login")
    for path in paths + details():
        driver.get(base + path)
        until("the page", lambda: driver.execute_script("return document.readyState") == "complete")
        total, html, names = driver.execute_script(
            "const n = performance.getEntriesByType('navigation')[0];"
            "const all = [n, ...performance.getEntriesByType('resource')];"
            "return [all.reduce((s, e) => s + e.encodedBodySize, 0), n.encodedBodySize, all.map((e) => e.name)]")
        check(total <= 100_000 and html <= 30_000, f"{path}: {total} bytes, {html} of them HTML")
        check(all(name.startswith(base) for name in names), f"{path}: a request elsewhere: {names}")
        examine(path)
        check_console(path)
    driver.get(base + "/")
    bottom = driver.execute_script("return document.querySelector('.attention').getBoundingClientRect().bottom")
    check(bottom < 844, "what needs a person is not on the first screen of a phone")
    states()


def states():
    """Empty, refused, asked, done and disconnected; the menus open; colours forced."""
    for path in ["/commands?type=nothing", "/commands/0", "/login"]:
        driver.get(base + path)
        examine(path)
    driver.get_log("browser")
    driver.get(base + "/commands?type=noop")
    click("input[value=all]")
    click("button[value=cancel]")
    until("the question", lambda: text("#question"))
    examine("the question")
    size(1280)
    walk("the question")
    driver.get(base + "/")
    cdp("Network.enable")
    cdp("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    until("the age", lambda: "reconnecting" in text("#live"))
    examine("a page without a connection")
    cdp("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    size(390)
    click(".pages summary")
    check(find("nav a[href$='/limits']").is_displayed(), "the menu of pages does not open")
    cdp("Runtime.evaluate", expression=axe)
    violations = evaluate("axe.run().then((r) => r.violations.map((v) => v.id + v.nodes[0].html).join())")
    check(violations == "", f"the menu of pages: {violations}")
    press(Keys.ESCAPE)
    check(not find("nav a[href$='/limits']").is_displayed(), "Esc does not close the menu of pages")
    size(1280)
    for path in [path for path in paths if path != "/commands"] + ["/commands?type=upload", *details()[::2]]:
        driver.get(base + path)
        walk(path)
    driver.get(base + "/")
    media(forced_colors="active", prefers_reduced_motion="reduce")
    walk("forced colours")
    dot = evaluate("getComputedStyle(document.querySelector('.panel')).borderTopStyle")
    check(dot == "solid", "a panel has no border with forced colours")


def noscript():
    log_in()
    for path in paths + details():
        driver.get(base + path)
        check(find_all("main") and driver.title.endswith("Sluice"), f"{path} is not a page")
        check(find("nav a").rect["width"] > 0, f"{path} has no navigation")
    driver.get(base + "/commands?status=new")
    box = find("input[name=id]")
    command = box.get_attribute("value")
    box.click()
    click("button[value=cancel]")
    notice = until("the notice", lambda: [e.text for e in find_all(".notice")])
    check("Cancelled: 1 command" in notice[0], f"the notice is {notice}")
    driver.get(f"{base}/commands/{command}")
    check("cancelled" in find(".head .st").text, "the command is not cancelled")
    driver.get(base + "/upload")
    find("input[type=file]").send_keys(__file__)
    click("#drop button[type=submit]")
    until("the list of uploads", lambda: driver.current_url.split("?")[0] == base + "/uploads")
    check("views.py" in find("main").text, "the upload is not listed")
