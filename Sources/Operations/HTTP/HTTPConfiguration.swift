package import Commands
package import HTTPClient

/// How uploads use the network.
package struct HTTPConfiguration: Sendable, Equatable {
    /// Name lookup, connection and TLS handshake together.
    package var connectTimeout: Duration = .seconds(10)
    /// How long no byte may move either way.
    package var idleTimeout: Duration = .seconds(30)
    /// From the last byte that the destination received to its final response: it may have to check, scan and move what it
    /// got. While the connection stands, nothing is sent again; TCP keepalive finds a dead host within half a minute.
    package var responseTimeout: Duration = .seconds(600)
    /// How long an unused connection is kept: a request that comes back within it saves the handshake and slow start (2.5 MB
    /// at 20 Mbit/s and 50 ms with bbr take 1.14 s and not 1.32), and most servers keep theirs for a minute or more. A
    /// server's `Keep-Alive: timeout` shortens it.
    package var keepAlive: Duration = .seconds(60)
    /// The longest that a connection may have been idle for a request that must be sent once only. Servers close theirs
    /// after 2 s (gunicorn), 5 s (Node.js, Apache) and more; a request that meets the close is in doubt.
    package var keepAliveOnce: Duration = .seconds(1)
    /// How long a kept connection may take in nothing of a request that may be sent again; then its network is taken for
    /// gone, and another connection for the request.
    package var silence: Duration = .seconds(5)
    /// Connections per scheme, host and port.
    package var connectionsPerHost = 1024
    /// Pauses before an upload that its destination has locked is asked for again. A server that noticed the end of a
    /// connection unlocks at once; one that did not takes up to 20 s (tusd), and by then others have its place.
    package var lockWaits: [Duration] = [
        .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4),
    ]
    /// A PEM file of certificates that are trusted besides the system's.
    package var trustRootsFile: String? {
        get { tls.trustRootsFile }
        set { tls.trustRootsFile = newValue }
    }
    /// Certificates by destination.
    package var tls = TLSSettings()
    /// Which requests go through a proxy.
    package var proxies = ProxySettings()
    /// Destinations that are asked by `Expect: 100-continue` before a body of 64 KiB or more is sent.
    package var expectContinue: Set<Destination> = []

    package init() {}

    var client: HTTPClientConfiguration {
        var client = HTTPClientConfiguration()
        client.connectTimeout = connectTimeout
        client.idleTimeout = idleTimeout
        client.headTimeout = idleTimeout
        client.keepAlive = keepAlive
        client.silence = silence
        client.connectionsPerOrigin = connectionsPerHost
        client.proxies = proxies
        client.tls = tls
        return client
    }
}
