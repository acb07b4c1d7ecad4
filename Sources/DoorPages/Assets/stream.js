"use strict";
// One stream for all windows of a browser: it opens six connections to a server, and a stream keeps one.
const ports = new Set();
let source = null;
const tell = (isOpen) => { for (const port of ports) port.postMessage(isOpen); };
const open = (url) => {
  source = new EventSource(url);
  for (const name of ["open", "message", "view"]) source.addEventListener(name, () => tell(true));
  source.onerror = () => tell(false);
};
// A window sends the URL of the stream while it is seen, and "" when it is hidden or left.
onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data: url }) => {
    if (url) ports.add(port); else ports.delete(port);
    if (!ports.size) { source?.close(); source = null; }
    else if (!source || source.readyState === EventSource.CLOSED) open(url);
    else if (url) port.postMessage(source.readyState === EventSource.OPEN);
  };
};
