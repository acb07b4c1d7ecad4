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

/// The certificates of this client and of the servers that it trusts, by origin. Files are read when they are
/// first needed, and again when they have changed.
package struct TLSSettings: Sendable, Equatable {
    /// The certificate chain and the private key of a client, both in PEM.
    package struct Identity: Sendable, Hashable {
        package var certificateFile: String
        package var keyFile: String

        package init(certificateFile: String, keyFile: String) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// The certificates for one origin.
    package struct Rule: Sendable, Hashable {
        /// PEM files of trusted certificates, in addition to the system's.
        package var trustRootsFiles: [String] = []
        package var identity: Identity?

        package init() {}
    }

    /// A PEM file of trusted certificates for all origins.
    package var trustRootsFile: String?
    private var rules: [HTTPOrigin: Rule] = [:]

    package init() {}

    package subscript(_ origin: HTTPOrigin) -> Rule {
        get {
            var rule = rules[origin] ?? Rule()
            if let trustRootsFile { rule.trustRootsFiles.append(trustRootsFile) }
            return rule
        }
        set { rules[origin] = newValue }
    }

    /// All files that the settings name.
    package var files: Set<String> {
        var files = Set(rules.values.flatMap { $0.trustRootsFiles + [$0.identity?.certificateFile].compactMap { $0 } })
        files.formUnion(rules.values.compactMap { $0.identity?.keyFile })
        if let trustRootsFile { files.insert(trustRootsFile) }
        return files
    }
}
