package import Commands
package import Settings

/// Credentials by destination. Scheme, host and port must match exactly, so a redirect, a look-alike host or
/// plain HTTP never gets a credential of another origin.
package struct CredentialStore: Sendable, Equatable {
    private var credentials: [Destination: Credential] = [:]

    package init() {}

    package init(_ credentials: [Destination: Credential]) { self.credentials = credentials }

    package subscript(_ destination: Destination) -> Credential? { credentials[destination] }

    /// The names of the environment variables that hold secrets.
    package var variables: Set<String> {
        Set(
            credentials.values.compactMap { credential in
                if case .environment(let name) = credential.secret { name } else { nil }
            })
    }

    /// Reads the list `credentials` and, for each name in it, the section `credential.<name>`:
    ///
    /// | key | meaning |
    /// |---|---|
    /// | `origin` | scheme, host and port, as in `https://media.example.com`; the port may be the scheme's own |
    /// | `bearerFile`, `bearerEnvironment` | a bearer token: in a file, or in an environment variable |
    /// | `basicUser` with `basicPasswordFile` or `basicPasswordEnvironment` | user and password |
    /// | `headerName` with `headerValueFile` or `headerValueEnvironment` | any other header |
    ///
    /// - Throws: ``SettingsError`` naming the key. The secrets themselves are not read here.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        for name in try reader.list(["credentials"]) {
            let section = ["credential", name]
            let credential = try Self.credential(name, &reader)
            let key = "credential.\(name).origin"
            guard let origin = try reader.origin(section) else { throw SettingsError(key: key, problem: "is missing") }
            guard credentials[origin] == nil else {
                throw SettingsError(key: key, problem: "names \(origin), which has a credential already")
            }
            credentials[origin] = credential
        }
    }

    private static func credential(_ name: String, _ reader: inout SettingsReader) throws(SettingsError) -> Credential {
        func text(_ key: String) throws(SettingsError) -> String? { try reader.text(["credential", name, key]) }
        func refuse(_ value: String?, _ key: String) throws(SettingsError) {
            guard value != nil else { return }
            throw SettingsError(
                key: "credential.\(name).\(key)", problem: "does not belong to this kind of credential; remove it")
        }
        func secret(_ key: String) throws(SettingsError) -> Secret? {
            for source in ["File", "Environment"] where try text("\(key)\(source)") == "" {
                throw SettingsError(key: "credential.\(name).\(key)\(source)", problem: "is empty")
            }
            switch (try text("\(key)File"), try text("\(key)Environment")) {
            case (nil, nil): return nil
            case (let path?, nil): return .file(path)
            case (nil, let variable?): return .environment(variable)
            case (_?, _?):
                throw SettingsError(
                    key: "credential.\(name)", problem: "has both \(key)File and \(key)Environment; keep one of them")
            }
        }
        let bearer = try secret("bearer")
        let user = try text("basicUser")
        let password = try secret("basicPassword")
        let header = try text("headerName")
        let value = try secret("headerValue")
        switch (bearer, password, value) {
        case (let secret?, nil, nil):
            try refuse(user, "basicUser")
            try refuse(header, "headerName")
            return .bearer(secret)
        case (nil, let secret?, nil):
            guard let user, !user.isEmpty, !user.contains(":") else {
                throw SettingsError(
                    key: "credential.\(name).basicUser", problem: "must be a user name without a colon")
            }
            try refuse(header, "headerName")
            return .basic(user: user, password: secret)
        case (nil, nil, let secret?):
            if let objection = HTTPHeaderRules.objection(to: header ?? "", value: "") {
                throw SettingsError(key: "credential.\(name).headerName", problem: objection)
            }
            try refuse(user, "basicUser")
            return .header(name: header ?? "", value: secret)
        default:
            throw SettingsError(
                key: "credential.\(name)",
                problem: "needs one of bearerFile, bearerEnvironment, basicPasswordFile, basicPasswordEnvironment, "
                    + "headerValueFile and headerValueEnvironment")
        }
    }
}
