"""A headless Chromium on the pages of a door, and the words between it and the test."""
import os
import subprocess
import sys
import time

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By

mode, base, sluice, data, orders = sys.argv[1:6]
paths = ["/", "/commands", "/links", "/workers", "/uploads", "/upload", "/flows", "/batches", "/schedules", "/limits",
         "/keys"]
# Seconds that one wait may take. It ends a run that hangs, and is longer than a wait on a machine whose cores are busy.
longest_wait = 120
# Debian has the program in this package, and Selenium would look for one of its own.
os.environ["SE_OFFLINE"] = "true"
asked = 0


def start():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"]:
        options.add_argument(argument)
    if mode == "noscript":
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.set_capability("unhandledPromptBehavior", {"default": "ignore", "beforeUnload": "accept"})
    return webdriver.Chrome(service=webdriver.ChromeService("/usr/bin/chromedriver"), options=options)


driver = start()


def until(what, condition):
    deadline = time.monotonic() + longest_wait
    while True:
        try:
            value = condition()
        except StaleElementReferenceException:
            # An update of the page has replaced the element.
            value = None
        if value:
            return value
        if time.monotonic() > deadline:
            raise SystemExit(f"timed out waiting for {what}; the page says {text('#live')!r}")
        time.sleep(0.03)


def check(condition, message):
    if not condition:
        raise SystemExit(message)


def ask(order):
    """Lets the test act on the door, and waits until it has."""
    global asked
    asked += 1
    print(f"{asked} {order}", flush=True)
    until(order, lambda: os.path.exists(f"{orders}/{asked}"))


def run(*arguments, input=None):
    return subprocess.run(
        [sluice, *arguments, "--data", data], check=True, capture_output=True, text=True, input=input).stdout.strip()


def submit(count):
    run("submit", "noop", "--payload", "-", input='{"payload": {}}\n' * count)


def log_in():
    size(1280)
    driver.get(run("login"))
    driver.find_element(By.CSS_SELECTOR, "main button").click()
    until("the overview", lambda: driver.current_url == base + "/")


def cdp(command, **parameters):
    return driver.execute_cdp_cmd(command, parameters)


def evaluate(expression):
    """Runs a script in the debugger's own world: the policy of the page permits none."""
    result = cdp("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
    check("exceptionDetails" not in result, f"{expression[:80]}: {result}")
    return result["result"].get("value")


def before_pages(script):
    """Runs a script before those of each page from now on."""
    return cdp("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]


def find(selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def click(selector):
    until(f"a click on {selector}", lambda: find(selector).click() or True)


def find_all(selector):
    return driver.find_elements(By.CSS_SELECTOR, selector)


def text(selector):
    return driver.execute_script("const e = document.querySelector(arguments[0]); return e && e.textContent", selector)


def press(*keys):
    # A key that comes before the script of the page is lost.
    until("the page", lambda: driver.execute_script("return document.readyState") == "complete")
    for key in keys:
        driver.switch_to.active_element.send_keys(key)


def size(width):
    cdp("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 500)


def media(**features):
    cdp("Emulation.setEmulatedMedia",
        features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])
