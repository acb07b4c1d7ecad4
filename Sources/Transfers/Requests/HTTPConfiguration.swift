package import Commands
package import HTTPClient
internal import Operations
package import Settings

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

extension HTTPConfiguration {
    /// Reads the section `upload`, and the keys for connections of each section `destination.<name>`:
    ///
    /// | key | default | meaning |
    /// |---|---|---|
    /// | `upload.connectTimeout` | 10 | seconds for name lookup, connection and TLS handshake together |
    /// | `upload.idleTimeout` | 30 | seconds in which no byte may move either way |
    /// | `upload.responseTimeout` | 600 | seconds from the last byte that the destination received to its response |
    /// | `upload.connectionsPerHost` | 1024 | connections to one scheme, host and port, in each worker |
    /// | `upload.trustRootsFile` | none | PEM file of trusted certificates, in addition to the system's |
    /// | `upload.proxy` | environment | `http://[user:password@]host:port`, or `none` |
    /// | `upload.noProxy` | environment | list of exceptions: names with their subdomains, addresses, networks, `*` |
    /// | `destination.<name>.trustRootsFile` | none | PEM file of further certificates to trust there |
    /// | `destination.<name>.clientCertificateFile` | none | PEM file of the client's certificate chain |
    /// | `destination.<name>.clientKeyFile` | none | PEM file of its private key |
    /// | `destination.<name>.expectContinue` | false | sends `Expect: 100-continue` before a body of 64 KiB or more, and waits at most 1 s |
    /// | `destination.<name>.proxy` | `upload.proxy` | as `upload.proxy`, for this destination |
    ///
    /// - Throws: ``SettingsError`` naming the key. It never quotes the password of a proxy.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        self.init()
        try Self.read(&client.connectTimeout, "connectTimeout", &reader)
        try Self.read(&client.idleTimeout, "idleTimeout", &reader)
        try Self.read(&responseTimeout, "responseTimeout", &reader)
        try reader.read(&client.connectionsPerOrigin, ["upload", "connectionsPerHost"])
        guard (1...65_535).contains(client.connectionsPerOrigin) else {
            throw SettingsError(
                key: "upload.connectionsPerHost", problem: "takes 1 to 65535, not \(client.connectionsPerOrigin)")
        }
        client.tls.trustRootsFile = try reader.text(["upload", "trustRootsFile"])
        if let choice = try Self.proxy(["upload"], &reader) { client.proxies.general = .some(choice) }
        let exceptions = try reader.list(["upload", "noProxy"])
        if !exceptions.isEmpty { client.proxies.exceptions = ProxyExceptions(exceptions.joined(separator: ",")) }
        for name in try reader.list(["destinations"]) { try readDestination(["destination", name], &reader) }
    }

    private mutating func readDestination(
        _ section: [String], _ reader: inout SettingsReader
    ) throws(SettingsError) {
        func key(_ name: String) -> String { (section + [name]).joined(separator: ".") }
        var rule = TLSSettings.Rule()
        if let file = try reader.text(section + ["trustRootsFile"]) { rule.trustRootsFiles = [file] }
        switch (
            try reader.text(section + ["clientCertificateFile"]), try reader.text(section + ["clientKeyFile"])
        ) {
        case (nil, nil): break
        case (let certificate?, let secret?):
            rule.identity = TLSSettings.Identity(certificateFile: certificate, keyFile: secret)
        case (_?, nil): throw SettingsError(key: key("clientKeyFile"), problem: "is missing")
        case (nil, _?): throw SettingsError(key: key("clientCertificateFile"), problem: "is missing")
        }
        var expects = false
        try reader.read(&expects, section + ["expectContinue"])
        let proxy = try Self.proxy(section, &reader)
        guard rule != TLSSettings.Rule() || expects || proxy != nil else { return }
        guard let destination = try reader.origin(section), let origin = HTTPOrigin(destination) else {
            throw SettingsError(key: key("origin"), problem: "is missing")
        }
        if rule != TLSSettings.Rule() { client.tls[origin] = rule }
        if expects { expectContinue.insert(destination) }
        if let proxy { client.proxies.byOrigin[origin] = proxy }
    }

    /// - Returns: nil where the key is absent; nil inside for `none`.
    private static func proxy(
        _ section: [String], _ reader: inout SettingsReader
    ) throws(SettingsError) -> HTTPProxy?? {
        guard let text = try reader.text(section + ["proxy"]) else { return nil }
        if text == "none" { return .some(nil) }
        do throws(ProxyError) { return try HTTPProxy(text) } catch {
            // The text is not quoted: it may hold a password.
            throw SettingsError(
                key: (section + ["proxy"]).joined(separator: "."),
                problem: "takes http://[user:password@]host:port or none: \(error)")
        }
    }

    private static func read(
        _ value: inout Duration, _ key: String, _ reader: inout SettingsReader
    ) throws(SettingsError) {
        try reader.read(&value, ["upload", key])
        guard value >= .milliseconds(50), value <= .seconds(86_400) else {
            throw SettingsError(key: "upload.\(key)", problem: "takes 0.05 to 86400 seconds, not \(value)")
        }
    }

    /// Reads the environment (`https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`) for settings that the
    /// configuration does not contain.
    /// - Throws: ``SettingsError`` naming the variable.
    package mutating func readProxies(from environment: (String) -> String?) throws(SettingsError) {
        do throws(ProxyError) {
            let found = try ProxySettings(environment: environment)
            client.proxies.http = found.http
            client.proxies.https = found.https
            if client.proxies.exceptions == ProxyExceptions("") { client.proxies.exceptions = found.exceptions }
        } catch {
            throw SettingsError(key: error.variable ?? "http_proxy", problem: "does not name a usable proxy: \(error)")
        }
    }

    /// Checks that every certificate file can be read. For processes that upload; other users may not be
    /// permitted to read the files.
    /// - Throws: ``SettingsError`` naming the file.
    package func checkFiles() throws(SettingsError) {
        if let file = client.tls.trustRootsFile { try Self.check(file, "upload.trustRootsFile") }
        for file in client.tls.files.sorted() where file != client.tls.trustRootsFile {
            try Self.check(file, "destination")
        }
    }

    private static func check(_ file: String, _ key: String) throws(SettingsError) {
        do { _ = try SourceFile(path: file) } catch { throw SettingsError(key: key, problem: error.message) }
    }
}
