package import Commands
package import Settings

/// Credentials by destination. Scheme, host and port must match exactly, so a redirect, a look-alike host or
/// plain HTTP never gets a credential of another origin.
package struct CredentialStore: Sendable, Equatable {
    private var credentials: [Destination: Credential] = [:]
    private var accessKeys: [Destination: S3AccessKey] = [:]
    /// Of the process; nil: sluice.yaml alone has access keys.
    private var environment: AWSEnvironment?

    package init() {}

    package init(_ credentials: [Destination: Credential], accessKeys: [Destination: S3AccessKey] = [:]) {
        self.credentials = credentials
        self.accessKeys = accessKeys
    }

    package subscript(_ destination: Destination) -> Credential? { credentials[destination] }

    /// The access key for an endpoint of S3: that of its section in sluice.yaml; without one, for AWS and for the endpoint
    /// that a variable names, that of the environment, else that of a profile (``AWSEnvironment``).
    package func accessKey(for endpoint: Destination) -> S3AccessKey? {
        if let key = accessKeys[endpoint] { return key }
        return environment.flatMap { $0.covers(endpoint) ? $0.accessKey : nil }
    }

    /// The endpoints with an access key, and the key, which does not show its secrets.
    package var accessKeySources: [(endpoint: String, key: S3AccessKey)] {
        let stated = accessKeys.map { (endpoint: $0.key.text, key: $0.value) }.sorted { $0.endpoint < $1.endpoint }
        guard let environment, let key = environment.accessKey else { return stated }
        let named = environment.endpoint.flatMap { accessKeys[$0] == nil ? " and \($0.text)" : nil } ?? ""
        return stated + [("AWS\(named), without a credential in sluice.yaml", key)]
    }

    /// The names of the environment variables that hold secrets.
    package var variables: Set<String> {
        Set(
            credentials.values.map(\.secret).compactMap { secret in
                if case .environment(let name) = secret { name } else { nil }
            } + accessKeys.values.flatMap(\.variables))
    }

    /// Reads the list `credentials` and, for each name in it, the section `credential.<name>`:
    ///
    /// | key | meaning |
    /// |---|---|
    /// | `origin` | scheme, host and port, as in `https://media.example.com`; the port may be the scheme's own |
    /// | `bearerFile`, `bearerEnvironment` | a bearer token: in a file, or in an environment variable |
    /// | `basicUser` with `basicPasswordFile` or `basicPasswordEnvironment` | user and password |
    /// | `headerName` with `headerValueFile` or `headerValueEnvironment` | any other header |
    /// | `s3AccessKey` with `s3SecretFile` or `s3SecretEnvironment` | an access key of S3, which signs |
    /// | `s3TokenFile`, `s3TokenEnvironment` | the token of a temporary access key |
    /// | `s3Environment: true` | the access key of `AWS_ACCESS_KEY_ID` and the variables beside it |
    /// | `s3Profile`, and `s3ProfileFile` | the access key of a profile of `~/.aws/credentials`, or of that file |
    ///
    /// - Parameter environment: of the process, whose access key holds for endpoints without a section.
    /// - Throws: ``SettingsError`` naming the key. The secrets themselves are not read here.
    package init(
        reading reader: inout SettingsReader, environment: AWSEnvironment = .ofProcess
    ) throws(SettingsError) {
        self.environment = environment
        for name in try reader.list(["credentials"]) {
            let section = ["credential", name]
            let accessKey = try Self.accessKey(name, &reader, environment)
            let credential = accessKey == nil ? try Self.credential(name, &reader) : nil
            let key = "credential.\(name).origin"
            guard let origin = try reader.origin(section) else { throw SettingsError(key: key, problem: "is missing") }
            guard credentials[origin] == nil, accessKeys[origin] == nil else {
                throw SettingsError(key: key, problem: "names \(origin), which has a credential already")
            }
            credentials[origin] = credential
            accessKeys[origin] = accessKey
        }
    }

    /// - Returns: nil where the section has no access key of S3.
    private static func accessKey(
        _ name: String, _ reader: inout SettingsReader, _ environment: AWSEnvironment
    ) throws(SettingsError) -> S3AccessKey? {
        let stated = try statedKey(name, &reader)
        var usesEnvironment = false
        try reader.read(&usesEnvironment, ["credential", name, "s3Environment"])
        let profile = try reader.text(["credential", name, "s3Profile"])
        let file = try reader.text(["credential", name, "s3ProfileFile"])
        for (value, key) in [(profile, "s3Profile"), (file, "s3ProfileFile")] where value == "" {
            throw SettingsError(key: "credential.\(name).\(key)", problem: "is empty")
        }
        let hasProfile = profile != nil || file != nil
        guard [stated != nil, usesEnvironment, hasProfile].count(where: \.self) <= 1 else {
            throw SettingsError(
                key: "credential.\(name)",
                problem: "has more than one of s3AccessKey, s3Environment and s3Profile; keep one of them")
        }
        if usesEnvironment { return S3AccessKey(.environment) }
        guard hasProfile else { return stated }
        guard let key = environment.key(ofProfile: profile, file: file) else {
            throw SettingsError(
                key: "credential.\(name).s3Profile",
                problem: "needs s3ProfileFile, because neither AWS_SHARED_CREDENTIALS_FILE nor HOME is set")
        }
        return key
    }

    /// - Returns: nil where the section states no access key.
    private static func statedKey(
        _ name: String, _ reader: inout SettingsReader
    ) throws(SettingsError) -> S3AccessKey? {
        let id = try reader.text(["credential", name, "s3AccessKey"])
        let secret = try self.secret("s3Secret", of: name, &reader)
        let token = try self.secret("s3Token", of: name, &reader)
        guard let id, let secret else {
            guard id == nil, secret == nil, token == nil else {
                throw SettingsError(
                    key: "credential.\(name).s3AccessKey",
                    problem: "needs s3SecretFile or s3SecretEnvironment beside it, and they need it")
            }
            return nil
        }
        return S3AccessKey(id: id, secret: secret, token: token)
    }

    /// The file or variable of a secret; nil where the section has neither.
    private static func secret(
        _ key: String, of name: String, _ reader: inout SettingsReader
    ) throws(SettingsError) -> Secret? {
        let path = try reader.text(["credential", name, "\(key)File"])
        let variable = try reader.text(["credential", name, "\(key)Environment"])
        for (value, source) in [(path, "File"), (variable, "Environment")] where value == "" {
            throw SettingsError(key: "credential.\(name).\(key)\(source)", problem: "is empty")
        }
        guard path == nil || variable == nil else {
            throw SettingsError(
                key: "credential.\(name)", problem: "has both \(key)File and \(key)Environment; keep one of them")
        }
        return path.map { .file($0) } ?? variable.map { .environment($0) }
    }

    private static func credential(_ name: String, _ reader: inout SettingsReader) throws(SettingsError) -> Credential {
        func text(_ key: String) throws(SettingsError) -> String? { try reader.text(["credential", name, key]) }
        func refuse(_ value: String?, _ key: String) throws(SettingsError) {
            guard value != nil else { return }
            throw SettingsError(
                key: "credential.\(name).\(key)", problem: "does not belong to this kind of credential; remove it")
        }
        let bearer = try secret("bearer", of: name, &reader)
        let user = try text("basicUser")
        let password = try secret("basicPassword", of: name, &reader)
        let header = try text("headerName")
        let value = try secret("headerValue", of: name, &reader)
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
                    + "headerValueFile, headerValueEnvironment, s3AccessKey, s3Environment and s3Profile")
        }
    }
}

/// The credential that a destination demands. Secrets are references: they are read for every use, so that
/// they can be rotated, and they never stand in payloads, arguments or output.
package enum Credential: Sendable, Equatable {
    /// `Authorization: Bearer …`
    case bearer(Secret)
    /// `Authorization: Basic …`
    case basic(user: String, password: Secret)
    /// A header that the destination defines.
    case header(name: String, value: Secret)

    /// The header field that carries the credential. Blocks while it reads a file.
    package func header() throws(SecretError) -> (name: String, value: String) {
        switch self {
        case .bearer(let secret): return ("Authorization", "Bearer \(try secret.read())")
        case .basic(let user, let secret):
            return ("Authorization", "Basic \(Base64.encode("\(user):\(try secret.read())".utf8))")
        case .header(let name, let secret): return (name, try secret.read())
        }
    }

    /// The secret part.
    var secret: Secret {
        switch self {
        case .bearer(let secret), .basic(_, let secret), .header(_, let secret): secret
        }
    }

    /// The name of the header field.
    package var headerName: String { if case .header(let name, _) = self { name } else { "Authorization" } }
}
