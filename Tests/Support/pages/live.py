"""What moves on a page and what must not: keys, new rows, questions, the age of the data, the end of a session."""
import json
import re

from browser import *
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

# Twenty seconds pass in one: a stream that has a frame four times a second, and the timers of the page.
lapse = """
const [timeout, interval, now] = [setTimeout, setInterval, Date.now], begun = now(), factor = 20;
Date.now = () => begun + (now() - begun) * factor;
setTimeout = (body, time, ...rest) => timeout(body, time / factor, ...rest);
setInterval = (body, time, ...rest) => interval(body, time / factor, ...rest);
SharedWorker = class {
  timer = 0;
  port = { postMessage: (url) => {
    clearInterval(this.timer);
    if (url) this.timer = interval(() => this.port.onmessage({ data: true }), 250 / factor);
  } };
};
globalThis.reads = 0;
const send = XMLHttpRequest.prototype.send;
XMLHttpRequest.prototype.send = function (...rest) { reads += 1; return send.apply(this, rest); };
"""


def state():
    return text("#live") or ""


def rows():
    return driver.execute_script("return [...document.querySelectorAll('#list tbody tr a')].map((a) => a.pathname)")


def top(path):
    return driver.execute_script(
        "return document.querySelector(`#list a[href='${arguments[0]}']`).getBoundingClientRect().top", path)


def waiting():
    return int(text("[data-k=count-new]"))


def settled():
    """The number of waiting commands, once the page has that of the store."""
    until("the present count", lambda: waiting() == json.loads(run("status", "--json"))["counts"]["new"])
    return waiting()


def keys():
    for key, path in zip("clwufbsmno", ["commands", "links", "workers", "uploads", "flows", "batches", "schedules", "limits",
                                        "upload", ""]):
        press("g", key)
        until(f"the page of {key}", lambda: driver.current_url == f"{base}/{path}")
    press("g", "c")
    until("the commands", lambda: driver.current_url == base + "/commands")
    first = rows()[0]
    press("j", "x")
    check(find("#list [name=id]").is_selected(), "x ticks no row")
    press("x", Keys.ENTER)
    until("the command", lambda: driver.current_url == base + first)
    press("/")
    check(driver.switch_to.active_element.get_attribute("id") == "search", "/ does not lead to the search")
    press(first[-12:], Keys.ENTER)
    until("the command again", lambda: driver.current_url == base + first)
    press("c")
    driver.switch_to.alert.dismiss()
    check("new" in text(".head .st"), "a dismissed question changed the command")
    press("c")
    driver.switch_to.alert.accept()
    until("the cancellation", lambda: "cancelled" in (text(".head .st") or "") and find_all(".notice"))
    press("r")
    until("the retry", lambda: "new" in (text(".head .st") or ""))
    press("p")
    until("the pause", lambda: "paused at" in state())
    press("p")
    until("the end of the pause", lambda: state() == "live")
    press("?")
    until("the keys", lambda: driver.current_url == base + "/keys")


def new_rows():
    """New rows are only counted, and a row changes where it stands."""
    driver.get(base + "/commands")
    until("the stream", lambda: state() == "live")
    before = rows()
    place = top(before[2])
    ActionChains(driver).move_to_element(find_all("#list tbody tr")[2]).perform()
    submit(12)
    until("the count of new rows", lambda: text("#new") == "12 new ▴")
    run("cancel", before[2].split("/")[-1])
    status = "return document.querySelector(`tr:has(a[href='${arguments[0]}']) .st`).textContent"
    until("the new status", lambda: driver.execute_script(status, before[2]) == "cancelled")
    check(rows() == before and top(before[2]) == place, "rows have moved under the pointer")
    click("#new")
    until("the new rows", lambda: len(rows()) > 12 and rows()[12] == before[0])

    driver.get(base + "/")
    until("the stream", lambda: state() == "live")
    driver.execute_script("document.querySelector('.attention a').focus()")
    count = settled()
    run("pause", "--qos", "background")
    submit(3)
    until("the count", lambda: waiting() == count + 3)
    check("Background" not in text(".attention"), "a section has changed under the focus")
    driver.execute_script("document.activeElement.blur()")
    until("the pause", lambda: "Background" in (text(".attention") or ""))
    click(".attention form button")
    until("the notice", lambda: "lifted" in (text(".notice") or ""))


def questions():
    driver.get(base + "/commands?type=noop&status=new")
    boxes = find_all("#list [name=id]")
    for box in boxes[:2]:
        box.click()
    click("button[value=cancel]")
    check(driver.switch_to.alert.text == "Cancel 2 commands?", driver.switch_to.alert.text)
    driver.switch_to.alert.dismiss()
    check(not find_all(".notice"), "a dismissed question changed commands")
    click("button[value=cancel]")
    driver.switch_to.alert.accept()
    until("the notice", lambda: "Cancelled: 2 commands" in (text(".notice") or ""))
    driver.get(base + "/commands?type=noop")
    click("input[value=all]")
    click("button[value=cancel]")
    question = until("the question", lambda: text("#question"))
    count = int(question.split()[1])
    others = re.search(r"(\d+) more have a status that does not allow it", text("main"))
    check(count > 12 and others, f"the question is {question}")
    click("main .danger")
    until("the progress", lambda: "/actions/" in driver.current_url)
    until("the end", lambda: "Done in" in text("main"))
    figures = [int(e.text) for e in find_all(".stats b")]
    # The end of a command also ends those that wait for it, which are then skipped.
    check(sum(figures) == count + int(others[1]) and 12 < figures[0] <= count and figures[2] == 0,
          f"{question}: changed, skipped, failed: {figures}")


def ages():
    """Without the door the page says of when its numbers are, and it recovers by itself."""
    driver.get(base + "/")
    until("the stream", lambda: state() == "live")
    settled()
    for lose, win in [(lambda: network(True), lambda: network(False)), (lambda: ask("kill"), lambda: ask("start"))]:
        lose()
        until("the age", lambda: state().startswith("as of ") and state().endswith(", reconnecting"))
        held = waiting()
        submit(1)
        check(waiting() == held and state().startswith("as of "), "the numbers have changed without a connection")
        win()
        until("the stream", lambda: state() == "live")
        until("the count", lambda: waiting() == held + 1)


def network(offline):
    cdp("Network.enable")
    cdp("Network.emulateNetworkConditions", offline=offline, latency=0, downloadThroughput=-1, uploadThroughput=-1)


def metrics():
    cdp("HeapProfiler.collectGarbage")
    return {m["name"]: m["value"] for m in cdp("Performance.getMetrics")["metrics"]}


def endurance(path, updates=60):
    """Updates of a page with many rows take little time each, and leave nothing behind."""
    identifier = before_pages(lapse)
    driver.get(base + path)
    # The time of the thread itself: other processes share the cores of the test.
    cdp("Performance.enable", timeDomain="threadTicks")
    until("the first updates", lambda: evaluate("reads") >= 40)
    first, count = metrics(), evaluate("reads")
    until("the updates", lambda: evaluate("reads") >= count + updates)
    count = evaluate("reads") - count
    last = metrics()
    # The collector may leave the last table for its next run; one that is kept at each update never goes.
    until("the end of the old rows", lambda: metrics()["Nodes"] - first["Nodes"] < 2000)
    work = (last["TaskDuration"] - first["TaskDuration"]) / count * 1000
    end = metrics()
    heap, nodes = (end[name] - first[name] for name in ["JSHeapUsedSize", "Nodes"])
    print(f"{path}: {count} updates, {work:.1f} ms of the main thread each, {heap / 1000:.0f} kB, {nodes:.0f} nodes more",
          flush=True)
    check(work < 20, f"an update takes {work:.1f} ms of the main thread")
    check(heap < 1_000_000, f"{heap} bytes more after {count} updates")
    cdp("Performance.disable")
    cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=identifier)


def streams():
    """The streams of pages that the door has open."""
    metrics = evaluate("fetch('/metrics').then((answer) => answer.text())")
    return int(re.search(r'sluice_sse_subscribers\{[^}]*stream="view"[^}]*\} (\d+)', metrics)[1])


def windows():
    """Windows share one stream, so that the seventh opens too; without a shared worker a page says that it has none."""
    page = driver.current_window_handle
    others = []
    for _ in range(8):
        driver.switch_to.new_window("window")
        others.append(driver.current_window_handle)
        driver.set_page_load_timeout(longest_wait)
        driver.get(base + "/commands")
        until("the stream of another window", lambda: state() == "live")
    until("the one stream of nine windows", lambda: streams() == 1)
    for other in others:
        driver.switch_to.window(other)
        driver.close()
    driver.switch_to.window(page)
    identifier = before_pages("delete globalThis.SharedWorker;")
    driver.get(base + "/commands")
    until("the word for a page without a stream", lambda: state() == "every 2 s, without a stream")
    submit(2)
    until("the new rows all the same", lambda: text("#new") == "2 new ▴")
    cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=identifier)


def end_of_session():
    driver.get(base + "/")
    until("the stream", lambda: state() == "live")
    page = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get(base + "/keys")
    click("details.menu summary")
    click("details.menu form button")
    until("the login", lambda: driver.current_url == base + "/login")
    driver.close()
    driver.switch_to.window(page)
    until("the end of the session", lambda: state() == "session ended: log in")
    check("/login" in find("#live a").get_attribute("href"), "the way to the login is missing")


def live():
    log_in()
    keys()
    new_rows()
    questions()
    ages()
    windows()
    endurance("/commands")
    endurance(wide_flow() + "?drawing=yes")
    end_of_session()


def wide_flow():
    driver.get(base + "/flows")
    link = next(a for a in find_all("td.c-name a") if "wide" in a.text)
    return link.get_attribute("href").removeprefix(base)
