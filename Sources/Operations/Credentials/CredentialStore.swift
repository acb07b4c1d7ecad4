package import Commands
package import Configuration

/// Which credential goes to which destination. Scheme, host and port must match exactly, so a redirect, a look-alike host
/// or plain HTTP never sees one that was meant for another origin.
package struct CredentialStore: Sendable, Equatable {
    private var credentials: [Destination: Credential] = [:]

    package init() {}

    package init(_ credentials: [Destination: Credential]) { self.credentials = credentials }

    package subscript(_ destination: Destination) -> Credential? { credentials[destination] }

    /// Reads the list `credentials` and, for each name in it, the section `credential.<name>`:
    ///
    /// | key | meaning |
    /// |---|---|
    /// | `origin` | scheme, host and port, as in `https://media.example.com`; the port may be the scheme's own |
    /// | `bearerFile`, `bearerEnvironment` | a bearer token: in a file, or in an environment variable |
    /// | `basicUser` with `basicPasswordFile` or `basicPasswordEnvironment` | user and password |
    /// | `headerName` with `headerValueFile` or `headerValueEnvironment` | any other header |
    ///
    /// - Throws: ``ConfigurationError`` naming the key. Secrets themselves are not read here.
    package init(reading configuration: ConfigReader) throws(ConfigurationError) {
        for name in configuration.stringArray(forKey: "credentials", default: []) {
            let section = configuration.scoped(to: ConfigKey(["credential", name]))
            let text = section.string(forKey: "origin", default: "")
            guard let origin = Destination(origin: text) else {
                throw ConfigurationError(
                    key: "credential.\(name).origin",
                    "must be an origin such as https://media.example.com, not “\(text)”")
            }
            guard credentials[origin] == nil else {
                throw ConfigurationError(key: "credential.\(name).origin", "\(origin) has a credential already")
            }
            credentials[origin] = try Self.credential(name, section)
        }
    }

    private static func credential(_ name: String, _ section: ConfigReader) throws(ConfigurationError) -> Credential {
        func secret(_ key: String) throws(ConfigurationError) -> Secret? {
            let file = section.string(forKey: ConfigKey(["\(key)File"]))
            let variable = section.string(forKey: ConfigKey(["\(key)Environment"]))
            switch (file, variable) {
            case (nil, nil): return nil
            case (let path?, nil): return .file(path)
            case (nil, let variable?): return .environment(variable)
            case (_?, _?):
                throw ConfigurationError(
                    key: "credential.\(name)", "has both \(key)File and \(key)Environment; keep one of them")
            }
        }
        let bearer = try secret("bearer")
        let password = try secret("basicPassword")
        let value = try secret("headerValue")
        switch (bearer, password, value) {
        case (let secret?, nil, nil): return .bearer(secret)
        case (nil, let secret?, nil):
            let user = section.string(forKey: "basicUser", default: "")
            guard !user.isEmpty, !user.contains(":") else {
                throw ConfigurationError(key: "credential.\(name).basicUser", "must be a user name without a colon")
            }
            return .basic(user: user, password: secret)
        case (nil, nil, let secret?):
            let header = section.string(forKey: "headerName", default: "")
            if let objection = HTTPHeaderRules.objection(to: header, value: "") {
                throw ConfigurationError(key: "credential.\(name).headerName", objection)
            }
            return .header(name: header, value: secret)
        default:
            throw ConfigurationError(
                key: "credential.\(name)",
                "needs one of bearerFile, bearerEnvironment, basicPasswordFile, basicPasswordEnvironment, "
                    + "headerValueFile and headerValueEnvironment")
        }
    }
}
