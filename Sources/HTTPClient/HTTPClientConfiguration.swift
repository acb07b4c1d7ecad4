package import NIOCore

/// How connections are opened, kept and given up.
package struct HTTPClientConfiguration: Sendable {
    /// Name lookup, connection, proxy tunnel and TLS handshake together.
    package var connectTimeout: Duration = .seconds(10)
    /// How long no byte may move either way. A byte counts when the peer's kernel has acknowledged it.
    package var idleTimeout: Duration = .seconds(30)
    /// From the first byte of a response head to its end.
    package var headTimeout: Duration = .seconds(30)
    /// How long an unused connection is kept. A server's `Keep-Alive: timeout` shortens it.
    package var keepAlive: Duration = .seconds(60)
    /// How long a kept connection may take in nothing of a repeatable request before it is taken for dead.
    package var silence: Duration = .seconds(5)
    /// Connections to one origin.
    package var connectionsPerOrigin = 1024
    /// Proxies by origin.
    package var proxies = ProxySettings()
    /// Certificates by origin.
    package var tls = TLSSettings()
    /// Approves each resolved address before the connect, given the host that was asked for; nil: all are permitted.
    package var permitsAddress: (@Sendable (_ host: String, _ address: SocketAddress) -> Bool)?

    package init() {}
}
