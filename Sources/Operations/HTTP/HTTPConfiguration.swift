package import Commands
package import HTTPClient

/// How uploads use the network.
package struct HTTPConfiguration: Sendable {
    /// How connections are opened, kept and given up. An unused one is kept for 60 s: a request that comes back within it
    /// saves the handshake and slow start (2.5 MB at 20 Mbit/s and 50 ms with bbr take 1.14 s and not 1.32), and most
    /// servers keep theirs for a minute or more.
    package var client = HTTPClientConfiguration()
    /// From the last byte that the destination received to its final response: it may have to check, scan and move what it
    /// got. While the connection stands, nothing is sent again; TCP keepalive finds a dead host within half a minute.
    package var responseTimeout: Duration = .seconds(600)
    /// The longest that a connection may have been idle for a request that must be sent once only. Servers close theirs
    /// after 2 s (gunicorn), 5 s (Node.js, Apache) and more; a request that meets the close is in doubt.
    package var keepAliveOnce: Duration = .seconds(1)
    /// Pauses before an upload that its destination has locked is asked for again. A server that noticed the end of a
    /// connection unlocks at once; one that did not takes up to 20 s (tusd), and by then others have its place.
    package var lockWaits: [Duration] = [
        .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4),
    ]
    /// Destinations that are asked by `Expect: 100-continue` before a body of 64 KiB or more is sent.
    package var expectContinue: Set<Destination> = []

    package init() {}
}
