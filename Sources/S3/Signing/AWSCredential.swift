internal import HTTPClient

/// An access key of AWS or of a compatible store. Its descriptions do not contain the secrets.
struct AWSCredential: Sendable, Equatable {
    let accessKey: String
    let secretKey: String
    /// The token of a temporary credential.
    let sessionToken: String?

    init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    /// - Returns: why an access key cannot be used, in a sentence; nil where it can. It stands between commas
    ///   and slashes of the header `Authorization`.
    static func objection(toAccessKey key: String) -> String? {
        guard !key.isEmpty else { return "the access key is empty" }
        guard key.utf8.count <= 256 else { return "the access key is longer than 256 bytes" }
        guard key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !",/=".utf8.contains($0) }) else {
            return "the access key “\(SingleLine.text(key, limit: 40))” contains a space, a comma, a slash, an equals "
                + "sign or a character that is not ASCII; copy it again from the store's console"
        }
        return nil
    }
}

extension AWSCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "the access key \(accessKey)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}
