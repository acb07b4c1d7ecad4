/// Why a secret or a message cannot be signed. It never quotes a secret.
struct WebhookError: Error, Sendable, Equatable, CustomStringConvertible {
    var message: String

    init(_ message: String) { self.message = message }

    var description: String { message }
}
