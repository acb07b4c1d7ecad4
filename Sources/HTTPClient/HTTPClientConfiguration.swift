package import NIOCore

/// How connections are opened, kept and closed.
package struct HTTPClientConfiguration: Sendable {
    /// For name lookup, connection, proxy tunnel and TLS handshake together.
    package var connectTimeout: Duration = .seconds(10)
    /// The maximum time without a byte in either direction. A byte counts when the peer's kernel has
    /// acknowledged it.
    package var idleTimeout: Duration = .seconds(30)
    /// From the first byte of a response head to its end.
    package var headTimeout: Duration = .seconds(30)
    /// How long an idle connection is kept. A server's `Keep-Alive: timeout` shortens it.
    package var keepAlive: Duration = .seconds(60)
    /// A kept connection counts as dead when its peer acknowledges nothing of a repeatable request for this
    /// long.
    package var silenceTimeout: Duration = .seconds(5)
    /// The maximum connections to one origin.
    package var connectionsPerOrigin = 1024
    /// Proxies by origin.
    package var proxies = ProxySettings()
    /// Certificates by origin.
    package var tls = TLSSettings()
    /// Why no connection may be opened to an address of a host, in a clause; nil where it may. It is asked for each
    /// address of an origin at each connect, but not for a proxy or what is behind it. Nil: all may.
    package var addressObjection: (@Sendable (_ host: String, _ address: SocketAddress) -> String?)?

    package init() {}
}
