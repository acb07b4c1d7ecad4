"""Uses the pages of a door in a headless Chromium.

python pages MODE URL SLUICE DATA ORDERS

SLUICE DATA prints a login link for the door at URL. The modes:

views       every page and state in two widths and two colour schemes: axe, overflow, the Tab key, console, bytes
noscript    the same pages without a script, and an action
live        keys, new rows, questions, the age of the data, the time of an update, the end of a session
origin      the door from a page of another origin, with a token
upload      files in every way, with pauses, a reload, losses and refusals; ORDERS/../film.bin is the large one

A line such as “1 kill” asks the test to act, and waits for the file ORDERS/1. The last line is “done”; the first failure
ends it.
"""
import live
import origin
import uploads
import views
from browser import driver, mode

try:
    {"views": views.views, "noscript": views.noscript, "live": live.live, "origin": origin.origin,
     "upload": uploads.upload}[mode]()
    print("done", flush=True)
finally:
    driver.quit()
