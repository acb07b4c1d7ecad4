"""Uses the pages of a door in a headless Chromium.

page-browser.py views URL SLUICE DATA           every page in two widths and two colour schemes: axe, overflow, console, bytes
page-browser.py noscript URL SLUICE DATA        the same pages without a script, and an action
page-browser.py keys URL SLUICE DATA            the keyboard alone
page-browser.py upload URL SLUICE DATA FILE GO  a file with a pause; prints “kill”, and goes on when the file GO exists

SLUICE DATA prints a login link for the door at URL. The last line is “done”; the first failure ends it.
"""
import os
import subprocess
import sys
import time

import axe_playwright_python
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

mode, base, sluice, data = sys.argv[1:5]
paths = ["/", "/commands", "/links", "/workers", "/uploads", "/upload", "/flows", "/schedules", "/keys"]
deadline = time.monotonic() + 150
# Debian has the program in this package, and Selenium would look for one of its own.
os.environ["SE_OFFLINE"] = "true"


def browser(scripts=True):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"]:
        options.add_argument(argument)
    if not scripts:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=webdriver.ChromeService("/usr/bin/chromedriver"), options=options)


def until(what, condition):
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise SystemExit(f"timed out waiting for {what}")
        time.sleep(0.05)


def log_in():
    link = subprocess.run(
        [sluice, "login", "--data", data], check=True, capture_output=True, text=True).stdout.strip()
    driver.get(link)
    driver.find_element(By.CSS_SELECTOR, "main button").click()
    until("the overview", lambda: driver.current_url == base + "/")


def check(condition, message):
    if not condition:
        raise SystemExit(message)


def details():
    """The pages of single things, found by the links of the lists."""
    found = []
    for path, selector in [("/commands", "td.c-name a"), ("/links", "td.c-name a"), ("/flows", "td.c-name a")]:
        driver.get(base + path)
        found += [a.get_attribute("href").removeprefix(base) for a in driver.find_elements(By.CSS_SELECTOR, selector)[:2]]
    return found


def views():
    log_in()
    axe = open(os.path.join(os.path.dirname(axe_playwright_python.__file__), "axe.min.js")).read()
    for path in paths + details():
        driver.get(base + path)
        until("the page", lambda: driver.execute_script("return document.readyState") == "complete")
        entry = driver.execute_script(
            "const n = performance.getEntriesByType('navigation')[0];"
            "const all = [n, ...performance.getEntriesByType('resource')];"
            "return [all.reduce((s, e) => s + e.encodedBodySize, 0), n.encodedBodySize, all.map((e) => e.name)]")
        check(entry[0] <= 100_000 and entry[1] <= 40_000, f"{path}: {entry[0]} bytes, {entry[1]} of them HTML")
        check(all(name.startswith(base) for name in entry[2]), f"{path}: a request elsewhere: {entry[2]}")
        for width in [1280, 390]:
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500})
            for scheme in ["light", "dark"]:
                driver.execute_cdp_cmd(
                    "Emulation.setEmulatedMedia",
                    {"features": [{"name": "prefers-color-scheme", "value": scheme},
                                  {"name": "prefers-reduced-motion", "value": "reduce"}]})
                over = driver.execute_script(
                    "return document.documentElement.scrollWidth - document.documentElement.clientWidth")
                check(over <= 0, f"{path} at {width}: {over} px too wide")
                # The policy of the page permits no script of a string; the debugger's own world does.
                driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
                result = driver.execute_cdp_cmd("Runtime.evaluate", {
                    "expression": "axe.run().then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html"
                                  ".slice(0, 160) + ' ' + n.failureSummary).join(' | ')).join('\\n'))",
                    "awaitPromise": True, "returnByValue": True})
                check("exceptionDetails" not in result, f"axe failed on {path}: {result}")
                violations = result["result"].get("value", "")
                check(violations == "", f"{path} at {width}, {scheme}: {violations}")
        entries = [e["message"] for e in driver.get_log("browser")]
        check(not entries, f"{path}: the console has {entries}")


def noscript():
    log_in()
    for path in paths + details():
        driver.get(base + path)
        check(driver.find_elements(By.CSS_SELECTOR, "main") and driver.title.endswith("Sluice"), f"{path} is not a page")
    driver.get(base + "/commands?status=new")
    box = driver.find_element(By.CSS_SELECTOR, "input[name=id]")
    command = box.get_attribute("value")
    box.click()
    driver.find_element(By.CSS_SELECTOR, "button[value=cancel]").click()
    notice = until("the notice", lambda: [e.text for e in driver.find_elements(By.CSS_SELECTOR, ".notice")])
    check("Cancelled: 1 command" in notice[0], f"the notice is {notice}")
    driver.get(f"{base}/commands/{command}")
    check("cancelled" in driver.find_element(By.CSS_SELECTOR, ".head .st").text, "the command is not cancelled")
    driver.get(base + "/upload")
    driver.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(__file__)
    driver.find_element(By.CSS_SELECTOR, "#drop button[type=submit]").click()
    until("the list of uploads", lambda: driver.current_url.split("?")[0] == base + "/uploads")
    check("page-browser.py" in driver.find_element(By.TAG_NAME, "main").text, "the upload is not listed")


def press(*keys):
    for key in keys:
        driver.switch_to.active_element.send_keys(key)


def keys():
    log_in()
    press("g", "c")
    until("the commands", lambda: driver.current_url == base + "/commands")
    first = driver.find_element(By.CSS_SELECTOR, "[data-row]").get_attribute("data-row")
    press("j", "x")
    check(driver.find_element(By.CSS_SELECTOR, "[data-row] input").is_selected(), "x ticks no row")
    press("x", Keys.ENTER)
    until("the command", lambda: driver.current_url == f"{base}/commands/{first}")
    press("/")
    check(driver.switch_to.active_element.get_attribute("id") == "search", "/ does not lead to the search")
    press(first[-12:], Keys.ENTER)
    until("the command again", lambda: driver.current_url == f"{base}/commands/{first}")
    press("p")
    until("the pause", lambda: "paused" in driver.find_element(By.ID, "live").text)
    press("?")
    until("the keys", lambda: driver.current_url == base + "/keys")


def upload():
    path, go = sys.argv[5:7]
    size = os.path.getsize(path)
    log_in()
    driver.get(base + "/upload")
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
        "offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 12 << 20})
    driver.find_element(By.ID, "file").send_keys(path)
    row = until("the row", lambda: driver.find_elements(By.CSS_SELECTOR, "#transfers li"))[0]
    bar = row.find_element(By.TAG_NAME, "progress")
    toggle = row.find_elements(By.TAG_NAME, "button")[0]
    value = lambda: float(bar.get_attribute("value"))
    until("the first bytes", lambda: value() > 0)
    toggle.click()
    until("the pause", lambda: row.get_attribute("data-state") == "paused")
    held = value()
    toggle.click()
    until("more bytes", lambda: value() > held or row.get_attribute("data-state") == "done")
    check(row.get_attribute("data-state") != "done", f"{size} bytes are too few for this test")
    print("kill", flush=True)
    until("the new door", lambda: os.path.exists(go))
    page = driver.current_window_handle
    driver.switch_to.new_window("tab")
    log_in()
    driver.close()
    driver.switch_to.window(page)

    def is_done():
        state = row.get_attribute("data-state")
        check(state not in ["refused", "cancelled"], row.text)
        if state == "failed":
            toggle.click()
        return state == "done"

    until("the end of the upload", is_done)


driver = browser(scripts=mode != "noscript")
try:
    {"views": views, "noscript": noscript, "keys": keys, "upload": upload}[mode]()
    print("done", flush=True)
finally:
    driver.quit()
