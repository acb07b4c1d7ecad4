"""The drop page of the door in a headless Chromium."""

import os
import time

from instance import until


class Browser:
    def __init__(self, instance, base):
        from selenium import webdriver

        # Debian has the program in this package, and Selenium would look for one of its own.
        os.environ["SE_OFFLINE"] = "true"
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        for argument in [*arguments, "--ignore-certificate-errors"]:
            options.add_argument(argument)
        self.driver = webdriver.Chrome(service=webdriver.ChromeService("/usr/bin/chromedriver"), options=options)
        self.instance, self.base = instance, base

    def close(self):
        self.driver.quit()

    def log_in(self):
        from selenium.webdriver.common.by import By

        def try_it():
            try:
                link = self.instance.login_link()
                self.driver.get(link.replace(f"http://127.0.0.1:{self.instance.port}/", self.base + "/"))
                self.driver.find_element(By.CSS_SELECTOR, "main button").click()
                until("the overview", lambda: self.driver.current_url == self.base + "/", 5)
                return True
            except Exception:  # The door is being started again, or has forgotten the code.
                return False

        until("the login", try_it, 90)

    def upload(self, job):
        """Chooses the file on the page, and waits for its end."""
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.common.by import By

        driver = self.driver

        def chooses():
            try:
                driver.get(f"{self.base}/upload")
                if not driver.find_elements(By.ID, "file"):
                    self.log_in()
                    return None
                driver.execute_script("document.querySelector('select[name=route]').value = arguments[0]", job.route)
                driver.find_element(By.ID, "file").send_keys(job.path)
                return until("the row", lambda: driver.find_elements(By.CSS_SELECTOR, "#transfers li"), 5)[0]
            except (WebDriverException, RuntimeError):
                # The door was killed before the browser had the page, or its script.
                return None

        row = until("the page", chooses, 90, 0.1)
        toggle = row.find_elements(By.TAG_NAME, "button")[0]

        def click(button):
            # The button is hidden where the upload has ended meanwhile.
            driver.execute_script("arguments[0].click()", button)

        while True:
            state = row.get_attribute("data-state")
            if state == "done":
                return None
            if state in ("refused", "cancelled"):
                raise RuntimeError(row.text)
            if time.monotonic() > job.deadline:
                raise RuntimeError(f"not within its time: {row.text}")
            if state == "failed":
                job.errors.append(row.text.replace("\n", " ")[:200])
                page = driver.current_window_handle
                driver.switch_to.new_window("tab")
                self.log_in()
                driver.close()
                driver.switch_to.window(page)
                click(toggle)
            elif state == "sending" and job.pauses and job.transfer.sent >= job.pauses[0]:
                click(toggle)
                job.pause(job.transfer.sent)
                if row.get_attribute("data-state") == "paused":
                    click(toggle)
            time.sleep(0.05)
