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
