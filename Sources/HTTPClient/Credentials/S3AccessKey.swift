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
