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
