package import Commands
internal import Glibc

/// The access key for an endpoint of S3. It is a reference to secrets: they are read for every request, so that they
/// can be rotated.
package struct S3AccessKey: Sendable, Equatable {
    /// Where the key is.
    package enum Source: Sendable, Equatable {
        /// `s3AccessKey`, `s3SecretFile` and `s3TokenFile` in sluice.yaml. The token is that of a temporary key.
        case configuration(id: String, secret: Secret, token: Secret?)
        /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN` of the process.
        case environment
        /// A section of a file in the form of `~/.aws/credentials`.
        case profile(String, file: String)
    }

    /// The values of a key.
    package struct Values: Sendable, CustomReflectable {
        package let id: String
        package let secret: String
        package let token: String?

        /// Without the secrets.
        package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
    }

    package let source: Source

    package init(_ source: Source) { self.source = source }

    package init(id: String, secret: Secret, token: Secret? = nil) {
        source = .configuration(id: id, secret: secret, token: token)
    }

    /// The names of the environment variables of the secrets.
    var variables: [String] {
        switch source {
        case .configuration(_, let secret, let token):
            [secret, token].compactMap { if case .environment(let name)? = $0 { name } else { nil } }
        case .environment: [AWSEnvironment.secretVariable, AWSEnvironment.tokenVariable]
        case .profile: []
        }
    }

    /// Reads the key. Blocks while it reads a file.
    /// - Throws: ``SecretError``, which never quotes a secret.
    package func read() throws(SecretError) -> Values {
        switch source {
        case .configuration(let id, let secret, let token):
            return Values(id: id, secret: try secret.read(), token: try token?.read())
        case .environment:
            return Values(
                id: try Secret.environment(AWSEnvironment.idVariable).read(),
                secret: try Secret.environment(AWSEnvironment.secretVariable).read(),
                token: try AWSEnvironment.isSet(AWSEnvironment.tokenVariable)
                    ? Secret.environment(AWSEnvironment.tokenVariable).read() : nil)
        case .profile(let name, let file):
            return try AWSProfileFile(try Secret.contents(of: file), path: file).values(of: name)
        }
    }
}

extension S3AccessKey: CustomStringConvertible {
    /// Where the key is, without any part of it.
    package var description: String {
        switch source {
        case .configuration: "s3AccessKey in sluice.yaml"
        case .environment: "the environment variables \(AWSEnvironment.idVariable) and \(AWSEnvironment.secretVariable)"
        case .profile(let name, let file): "the profile “\(name)” of \(file)"
        }
    }
}

/// The access key of S3 that the environment of a process names, by the variables of the tools of AWS. No secret is read
/// here.
package struct AWSEnvironment: Sendable, Equatable {
    static let idVariable = "AWS_ACCESS_KEY_ID"
    static let secretVariable = "AWS_SECRET_ACCESS_KEY"
    static let tokenVariable = "AWS_SESSION_TOKEN"
    /// The endpoint for commands that name none, the first that is set.
    package static let endpointVariables = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]

    /// The key for endpoints without a credential in sluice.yaml; nil where there is none.
    package let accessKey: S3AccessKey?
    /// The endpoint that a variable names, beside those of AWS.
    package let endpoint: Destination?
    private let profile: String
    private let file: String?

    /// - Parameters:
    ///   - variable: the value of a variable; nil where it is not set. Empty ones count as not set.
    ///   - exists: whether a file exists.
    package init(variable: (String) -> String?, exists: (String) -> Bool) {
        func value(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
        let named = value("AWS_PROFILE")
        profile = named ?? "default"
        file = value("AWS_SHARED_CREDENTIALS_FILE") ?? value("HOME").map { "\($0)/.aws/credentials" }
        endpoint = (value(Self.endpointVariables[0]) ?? value(Self.endpointVariables[1])).flatMap { Destination($0) }
        if value(Self.idVariable) != nil {
            accessKey = S3AccessKey(.environment)
        } else if let file, named != nil || exists(file) {
            accessKey = S3AccessKey(.profile(profile, file: file))
        } else {
            accessKey = nil
        }
    }

    /// That of this process.
    package static var ofProcess: AWSEnvironment {
        AWSEnvironment(
            variable: { name in getenv(name).flatMap { String(validatingCString: $0) } },
            exists: { access($0, F_OK) == 0 })
    }

    /// Whether a variable is set and not empty.
    static func isSet(_ name: String) -> Bool { getenv(name).map { $0.pointee != 0 } ?? false }

    /// The key of a profile, by the file that holds for this process.
    /// - Parameters:
    ///   - name: nil: that of `AWS_PROFILE`, else “default”.
    ///   - path: nil: that of the process.
    func key(ofProfile name: String?, file path: String?) -> S3AccessKey? {
        (path ?? file).map { S3AccessKey(.profile(name ?? profile, file: $0)) }
    }

    /// Whether the key of the environment goes to an endpoint: to AWS, and to the one that a variable names.
    func covers(_ destination: Destination) -> Bool {
        if let endpoint, destination == endpoint { return true }
        guard let origin = HTTPOrigin(destination), origin.isEncrypted else { return false }
        let host = origin.host
        return host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn")
    }
}

/// The file of access keys that the tools of AWS share, `~/.aws/credentials`:
///
/// ```
/// [default]
/// aws_access_key_id = AKIAIOSFODNN7EXAMPLE
/// aws_secret_access_key = …
/// aws_session_token = …          of a temporary key
/// ```
///
/// A line that begins with `#` or `;` is a comment. Pure; its descriptions have no value of the file.
struct AWSProfileFile: CustomReflectable {
    private var profiles: [String: [String: String]] = [:]
    private let path: String

    var customMirror: Mirror { Mirror(self, children: ["path": path]) }

    /// - Parameters:
    ///   - bytes: of the file.
    ///   - path: for messages.
    init(_ bytes: [UInt8], path: String) throws(SecretError) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw SecretError("\(path) is not valid UTF-8")
        }
        self.path = path
        var profile: String?
        for line in text.split(whereSeparator: \.isNewline).map(\.trimmed) {
            guard let first = line.utf8.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { continue }
            if first == UInt8(ascii: "[") {
                let name = line.dropFirst().prefix { $0 != "]" }.trimmed
                profile = name
                if profiles[name] == nil { profiles[name] = [:] }
            } else if let mark = line.firstIndex(of: "="), let profile {
                profiles[profile]?[line[..<mark].trimmed.lowercased()] = line[line.index(after: mark)...].trimmed
            }
        }
    }

    /// The key of a profile.
    /// - Throws: ``SecretError`` that names what the profile lacks.
    func values(of name: String) throws(SecretError) -> S3AccessKey.Values {
        guard let profile = profiles[name] else { throw SecretError("\(path) has no profile “\(name)”") }
        func value(_ key: String) -> String? { profile[key].flatMap { $0.isEmpty ? nil : $0 } }
        guard let id = value("aws_access_key_id"), let secret = value("aws_secret_access_key") else {
            throw SecretError(
                "the profile “\(name)” of \(path) has no aws_access_key_id and aws_secret_access_key; roles, sign-on and "
                    + "credential_process are not supported")
        }
        return S3AccessKey.Values(id: id, secret: secret, token: value("aws_session_token"))
    }
}
