"""The page that sends files: chosen, dropped, pasted, a folder; paused, reloaded, cut off, refused."""
import os

from browser import *

# Notes the offset of each PATCH, and each offset that the door has stated for its upload.
record = """
globalThis.log = JSON.parse(sessionStorage.getItem("log") || "[]");
const [open, send, header] = ["open", "send", "setRequestHeader"].map((name) => XMLHttpRequest.prototype[name]);
XMLHttpRequest.prototype.open = function (method, url, ...rest) {
  Object.assign(this, { method, target: url });
  return open.call(this, method, url, ...rest);
};
XMLHttpRequest.prototype.setRequestHeader = function (name, value) {
  if (name === "Upload-Offset") this.start = Number(value);
  return header.call(this, name, value);
};
XMLHttpRequest.prototype.send = function (body) {
  const note = (kind, offset) => {
    log.push([kind, this.target, offset]);
    sessionStorage.setItem("log", JSON.stringify(log));
  };
  if (this.method === "PATCH") note("sent", this.start);
  this.addEventListener("load", () => {
    const offset = ["PATCH", "HEAD"].includes(this.method) && this.getResponseHeader("Upload-Offset");
    if (offset) note("stated", Number(offset));
  });
  return send.call(this, body);
};
"""
# Answers the next HEAD with a status of this script.
answer = """
globalThis.answer = (status) => {
  const open = XMLHttpRequest.prototype.open;
  globalThis.answers = 0;
  XMLHttpRequest.prototype.open = function (method, ...rest) {
    if (method === "HEAD" && answers++ === 0) Object.defineProperty(this, "status", { value: status });
    return open.call(this, method, ...rest);
  };
};
"""
# Presses a button of a file that sends, once more of the file than a share has gone. A driver outside of the browser would look
# for the button while a busy machine sends the rest.
press_while_sending = """
globalThis.pressWhileSending = (name, word, share) => new Promise((resolve) => {
  const look = () => {
    const row = [...document.querySelectorAll("#transfers li")].find((r) => r.querySelector("bdi").textContent === name);
    const value = row?.dataset.state === "sending" ? row.querySelector("progress").value : 0;
    if (value <= share) return setTimeout(look, 2);
    [...row.querySelectorAll("button")].find((b) => b.textContent === word).click();
    resolve(value);
  };
  look();
});
"""
transfer = """
globalThis.transfer = (...files) => {
  const transfer = new DataTransfer();
  for (const [name, text] of files) transfer.items.add(new File([text], name, {lastModified: 1}));
  return transfer;
};
"""


def row(name):
    return next((r for r in find_all("#transfers li") if r.find_element(By.TAG_NAME, "bdi").text == name), None)


def state(name):
    found = row(name)
    return found and found.get_attribute("data-state")


def button(name, word):
    return next(b for b in row(name).find_elements(By.TAG_NAME, "button") if b.text == word)


def value(name):
    return float(row(name).find_element(By.TAG_NAME, "progress").get_attribute("value"))


def pause(name, share=0):
    """Pauses a file once more than a share of it has gone, and returns the share that has."""
    evaluate(f"pressWhileSending('{name}', 'pause', {share})")
    until("the pause", lambda: state(name) == "paused")
    return value(name)


def is_done(*names):
    until(f"the end of {names}", lambda: all(state(name) == "done" for name in names))


def throughput(bytes):
    cdp("Network.enable")
    cdp("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=bytes)


def given():
    """Files that are dropped, pasted and chosen as a folder."""
    evaluate("""{
        const data = transfer(["a.txt", "one"], ["b.txt", "two"]);
        document.body.dispatchEvent(new DragEvent("dragover", {dataTransfer: data, bubbles: true, cancelable: true}));
    }""")
    check("over" in find("#drop").get_attribute("class"), "the zone does not show that it takes the files")
    evaluate("""{
        const data = transfer(["a.txt", "one"], ["b.txt", "two"]);
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        const paste = transfer(["pasted.png", "three"]);
        document.dispatchEvent(new ClipboardEvent("paste", {clipboardData: paste, bubbles: true}));
    }""")
    is_done("a.txt", "b.txt", "pasted.png")
    check("over" not in find("#drop").get_attribute("class"), "the zone still shows that it takes files")
    folder = os.path.join(os.path.dirname(orders), "folder")
    os.makedirs(folder + "/below", exist_ok=True)
    for name in ["x.txt", "below/x.txt"]:
        with open(f"{folder}/{name}", "w") as file:
            file.write(name)
    find("#folder").send_keys(folder)
    is_done("folder/x.txt", "folder/below/x.txt")
    evaluate('document.body.dispatchEvent(new DragEvent("drop", '
             '{dataTransfer: transfer(["huge.bin", new Uint8Array(65 << 20)]), bubbles: true, cancelable: true}))')
    until("the refusal by size", lambda: state("huge.bin") == "refused")
    check("larger than" in row("huge.bin").text, row("huge.bin").text)


def choose_route(name):
    driver.execute_script("document.querySelector('select[name=route]').value = arguments[0]", name)


def twins():
    """Two files of one name, whose route sends both to one target: the second is refused before it is sent."""
    folder = os.path.join(os.path.dirname(orders), "twins")
    names = []
    for part in ["a", "b"]:
        os.makedirs(f"{folder}/{part}", exist_ok=True)
        with open(f"{folder}/{part}/x.txt", "w") as file:
            file.write(part)
        names.append(f"twins/{part}/x.txt")
    choose_route("named")
    find("#folder").send_keys(folder)
    until("the end of both", lambda: sorted(str(state(name)) for name in names) == ["done", "refused"])
    done, refused = sorted(names, key=state)
    check(f"place of {done}" in row(refused).text, row(refused).text)
    choose_route("")


def busy():
    """A door that is busy at the question for the offset is asked again, and no byte is sent twice."""
    path = os.path.join(os.path.dirname(orders), "busy.bin")
    with open(path, "wb") as file:
        file.write(bytes(16 << 20))
    known = {target for _, target, _ in evaluate("log")}
    # The browser sends several times as much. At this rate, most of the file is left after the third pause.
    throughput(256 << 10)
    choose_route("named")
    find("#file").send_keys(path)
    held = 0
    for status in [423, 409, 408]:
        held = pause("busy.bin", held)
        evaluate(f"answer({status})")
        button("busy.bin", "resume").click()
        until(f"the second question after {status}", lambda: evaluate("answers") > 1)
        until("more bytes", lambda: state("busy.bin") == "sending" and value("busy.bin") > held)
    throughput(-1)
    is_done("busy.bin")
    choose_route("")
    offsets = {target: 0 for _, target, _ in evaluate("log") if target not in known}
    check(len(offsets) == 1, f"the file has begun {len(offsets)} uploads")
    for kind, target, offset in evaluate("log"):
        if target in offsets:
            check(kind == "stated" or offset >= offsets[target], f"bytes from {offset} are sent again")
            offsets[target] = max(offsets[target], offset)


def interrupted(path):
    """One file through a pause, a reload, a lost connection and the death of the door."""
    name = os.path.basename(path)
    throughput(2 << 20)
    find("#file").send_keys(path)
    find("#file").send_keys(path)
    held = pause(name)
    check(len([r for r in find_all("#transfers li") if name in r.text]) == 1, "a file that is chosen twice is two transfers")
    button(name, "resume").click()
    until("more bytes", lambda: value(name) > held)
    driver.get(base + "/upload")
    until("the page", lambda: find_all("#file") and not find_all("#transfers li"))
    find("#file").send_keys(path)
    until("the bytes of before the reload", lambda: state(name) == "sending" and value(name) >= held)
    cdp("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    until("the loss of the connection", lambda: "no connection" in row(name).text)
    throughput(2 << 20)
    until("more bytes", lambda: state(name) == "sending" and "again in" not in row(name).text)
    ask("restart")
    throughput(-1)
    is_done(name)
    offsets = {}
    for kind, target, offset in evaluate("log"):
        known = offsets.get(target, 0)
        check(kind == "stated" or offset >= known, f"bytes from {offset} are sent again: the door had {known}")
        if kind == "stated":
            offsets[target] = max(known, offset)
    check(os.path.getsize(path) in offsets.values(), f"the log has no end: {offsets}")


def refused(path):
    """The quota of the door is a sentence, and a cancelled upload makes room again."""
    second = path + ".2"
    with open(path, "rb") as file, open(second, "wb") as copy:
        copy.write(file.read()[::-1])
    find("#file").send_keys(second)
    name = os.path.basename(second)
    until("the refusal by the quota", lambda: state(name) == "failed")
    check(len(row(name).find_element(By.CSS_SELECTOR, ".upstate").text.split()) > 4, row(name).text)
    button(name, "cancel").click()
    until("the cancellation", lambda: state(name) == "cancelled")


def upload():
    before_pages(record)
    before_pages(transfer)
    before_pages(answer)
    before_pages(press_while_sending)
    log_in()
    driver.get(base + "/upload")
    given()
    twins()
    busy()
    interrupted(os.path.join(os.path.dirname(orders), "film.bin"))
    refused(os.path.join(os.path.dirname(orders), "film.bin"))
