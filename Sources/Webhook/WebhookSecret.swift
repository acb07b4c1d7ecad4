internal import Crypto
internal import HTTPClient

/// A secret that signs messages (Standard Webhooks 1.0.0, “Signature scheme”). Its description does not
/// contain the key.
enum WebhookSecret: Sendable {
    /// `whsec_` and the base64 of 24 to 64 bytes: HMAC-SHA256.
    case symmetric(SymmetricKey)
    /// `whsk_` and the base64 of an ed25519 key: its seed of 32 bytes, with or without its public key.
    case privateKey(Curve25519.Signing.PrivateKey)

    static let symmetricLengths = 24...64

    /// - Throws: ``WebhookError`` that names the form and not the secret.
    init(_ text: String) throws(WebhookError) {
        guard !text.hasPrefix("whpk_") else {
            throw WebhookError("a secret starts with whpk_: it is a public key, which verifies; give its whsk_ key")
        }
        let isPrivateKey = text.hasPrefix("whsk_")
        guard isPrivateKey || text.hasPrefix("whsec_") else {
            throw WebhookError("a secret starts with neither whsec_ nor whsk_; copy it again from the receiver")
        }
        let digits = text.utf8.dropFirst(isPrivateKey ? 5 : 6)
        guard digits.count <= 128, let bytes = Base64.decode(digits) else {
            throw WebhookError("a secret is not base64 after its prefix; copy it again from the receiver")
        }
        self = try isPrivateKey ? Self.privateKey(bytes) : Self.symmetric(bytes)
    }

    private static func symmetric(_ bytes: [UInt8]) throws(WebhookError) -> WebhookSecret {
        guard symmetricLengths.contains(bytes.count) else {
            throw WebhookError("a whsec_ secret has \(bytes.count) bytes; it must have 24 to 64")
        }
        return .symmetric(SymmetricKey(data: bytes))
    }

    private static func privateKey(_ bytes: [UInt8]) throws(WebhookError) -> WebhookSecret {
        guard bytes.count == 32 || bytes.count == 64,
            let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes.prefix(32))
        else {
            throw WebhookError("a whsk_ secret has \(bytes.count) bytes; it must have 32, or 64 with its public key")
        }
        guard bytes.count == 32 || key.publicKey.rawRepresentation.elementsEqual(bytes[32...]) else {
            throw WebhookError("a whsk_ secret has a public key that does not belong to it; copy it again")
        }
        return .privateKey(key)
    }
}

extension WebhookSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String {
        switch self {
        case .symmetric: "a whsec_ secret"
        case .privateKey: "a whsk_ secret"
        }
    }

    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}
