"""A page of another origin, which uses the door with a token of its own."""
import http.server
import json
import threading

from browser import base, check, driver, evaluate, log_in, run

# Creates an upload by tus, learns where it is, sends its bytes in two parts, and asks for its offset.
UPLOAD = """
(async () => {
  const fields = {"Authorization": "Bearer TOKEN", "Tus-Resumable": "1.0.0"};
  const created = await fetch("BASE/uploads", {
    method: "POST", headers: {...fields, "Upload-Length": "6", "Upload-Metadata": "filename " + btoa("cross.bin")}});
  const url = new URL(created.headers.get("Location"), "BASE").href;
  const send = (text, offset) => fetch(url, {
    method: "PATCH", body: text,
    headers: {...fields, "Upload-Offset": offset, "Content-Type": "application/offset+octet-stream"}});
  const first = await send("abc", "0");
  const head = await fetch(url, {method: "HEAD", headers: fields});
  const last = await send("def", head.headers.get("Upload-Offset"));
  const refused = await fetch("BASE/uploads", {method: "POST", headers: {...fields, "Authorization": "Bearer wrong"}});
  return JSON.stringify({
    statuses: [created.status, first.status, head.status, last.status, refused.status],
    offsets: [first, head, last].map(answer => answer.headers.get("Upload-Offset")), url});
})()
"""
# “failed” where the browser keeps the answer from the page.
READ = """
(async () => {
  try {
    const answer = await fetch("BASE" + "PATH", {headers: FIELDS, credentials: "CREDENTIALS"});
    return answer.status + " " + (await answer.text()).slice(0, 40);
  } catch { return "failed"; }
})()
"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>a site</title>")

    def log_message(self, *arguments):
        pass


def read(path, token=None, credentials="omit"):
    fields = {"Authorization": f"Bearer {token}"} if token else {}
    text = READ.replace("BASE", base).replace("PATH", path).replace("FIELDS", json.dumps(fields))
    return evaluate(text.replace("CREDENTIALS", credentials))


def origin():
    token = json.loads(run("token", "create", "visitor", "--scope", "upload,read", "--json"))["token"]
    log_in()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    driver.get(f"http://127.0.0.1:{server.server_address[1]}/")
    result = evaluate(UPLOAD.replace("BASE", base).replace("TOKEN", token))
    result = json.loads(result)
    check(result["statuses"] == [201, 204, 200, 204, 401], f"an upload from another origin: {result}")
    check(result["offsets"] == ["3", "3", "6"], f"the page reads other offsets: {result}")
    check(result["url"].startswith(base), f"the page reads another URL: {result}")
    # The rest says nothing to another origin: by a token, or by the session of a person in the same browser.
    for path in ["/api/v1/commands", "/", "/metrics"]:
        check(read(path, token) == "failed", f"another origin reads {path} with a token")
    check(read("/uploads", credentials="include") == "failed", "another origin sends a session")
    server.shutdown()
