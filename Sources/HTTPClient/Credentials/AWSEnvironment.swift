package import Commands
internal import Glibc

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
