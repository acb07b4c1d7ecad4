internal import Commands
internal import Crypto
internal import HTTPClient
internal import Transfers

/// The headers of one attempt (Standard Webhooks 1.0.0). Receivers accept a timestamp within 5 minutes, so
/// every attempt is signed anew.
struct WebhookSignature: Sendable, Equatable {
    /// The maximum number of active secrets: an old and a new one, of two kinds, and room for more.
    static let maxSecrets = 8

    /// Unix seconds of the attempt.
    let timestamp: Int64
    /// One signature for each secret, in their order, with spaces between them.
    let text: String
    private let id: String

    /// - Parameters:
    ///   - id: as ``WebhookPayload`` accepts it: without a dot.
    ///   - body: the bytes that are sent.
    ///   - time: the time of the attempt.
    ///   - secrets: the active secrets; 1…``maxSecrets``.
    /// - Throws: ``WebhookError`` where there is no secret, or there are too many.
    init(id: String, body: [UInt8], at time: Timestamp, _ secrets: [WebhookSecret]) throws(WebhookError) {
        guard !secrets.isEmpty else {
            throw WebhookError("the endpoint has no secret, so that no receiver can trust the message; give it one")
        }
        guard secrets.count <= Self.maxSecrets else {
            throw WebhookError(
                "the endpoint has \(secrets.count) secrets; keep \(Self.maxSecrets) and remove the old ones")
        }
        self.id = id
        // Rounded down, also before 1970.
        timestamp = (time.milliseconds - (time.milliseconds % 1000 + 1000) % 1000) / 1000
        let signed = Array("\(id).\(timestamp).".utf8) + body
        var signatures: [String] = []
        for secret in secrets { signatures.append(try Self.signature(of: signed, secret)) }
        text = signatures.joined(separator: " ")
    }

    /// The three headers, and the type of the body.
    var headers: [HTTPField] {
        [
            HTTPField("Content-Type", "application/json"), HTTPField("webhook-id", id),
            HTTPField("webhook-timestamp", String(timestamp)), HTTPField("webhook-signature", text),
        ]
    }

    private static func signature(of bytes: [UInt8], _ secret: WebhookSecret) throws(WebhookError) -> String {
        switch secret {
        case .symmetric(let key): return "v1,\(Base64.encode(HMAC<SHA256>.authenticationCode(for: bytes, using: key)))"
        case .privateKey(let key):
            guard let signature = try? key.signature(for: bytes) else {
                throw WebhookError("the whsk_ secret cannot sign")
            }
            return "v1a,\(Base64.encode(signature))"
        }
    }
}

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

/// Why a secret or a message cannot be signed. It never quotes a secret.
struct WebhookError: Error, Sendable, Equatable, CustomStringConvertible {
    var message: String

    init(_ message: String) { self.message = message }

    var description: String { message }
}
