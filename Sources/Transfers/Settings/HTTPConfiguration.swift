package import Commands
package import HTTPClient

/// How uploads use the network.
package struct HTTPConfiguration: Sendable {
    /// How connections are opened, kept and closed. An idle connection is kept for 60 s. A request within
    /// that time saves the handshake and slow start (2.5 MB at 20 Mbit/s and 50 ms with bbr take 1.14 s
    /// instead of 1.32 s), and most servers keep connections for a minute or more.
    package var client = HTTPClientConfiguration()
    /// The maximum time from the last byte that the destination received to its final response. The
    /// destination may have to check, scan and move the file. While the connection is alive, nothing is sent
    /// again; TCP keepalive detects a dead host within half a minute.
    package var responseTimeout: Duration = .seconds(600)
    /// The maximum idle time of a connection that carries a request which is not idempotent. Servers close
    /// idle connections after 2 s (gunicorn), 5 s (Node.js, Apache) and more. A request that crosses with the
    /// close is in doubt.
    package var nonIdempotentKeepAlive: Duration = .seconds(1)
    /// Delays before the offset of a locked upload is queried again. A server that has seen the end of the
    /// previous connection unlocks at once. Otherwise it takes up to 20 s (tusd), and until then other
    /// commands use the slot.
    package var lockRetryDelays: [Duration] = [
        .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4),
    ]
    /// Destinations that get `Expect: 100-continue` before a body of 64 KiB or more.
    package var expectContinue: Set<Destination> = []
    /// The limits of commands that came over HTTP.
    package var confinement = Confinement()

    package init() {}
}
