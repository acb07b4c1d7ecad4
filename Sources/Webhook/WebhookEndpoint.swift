internal import Commands
internal import HTTPClient
internal import Settings

/// A receiver of webhooks as sluice.yaml names it, and the secrets that sign its messages.
struct WebhookEndpoint: Sendable, Equatable {
    static let defaultTimeout: Duration = .seconds(20)
    /// Standard Webhooks advises 15 to 30 s.
    static let timeouts: ClosedRange<Duration> = .seconds(1) ... .seconds(600)

    let name: String
    /// The only origin to which the secrets sign.
    let origin: Destination
    /// The active secrets: the new one and the old ones.
    let secrets: [Secret]
    /// The longest time from the start of an attempt to the response.
    let timeout: Duration

    /// Reads the secrets. Blocks while it reads a file.
    /// - Throws: ``SecretError``, ``WebhookError``, which do not quote a secret.
    func readSecrets() throws -> [WebhookSecret] {
        try secrets.map { secret in
            let text = try secret.read()
            do throws(WebhookError) {
                return try WebhookSecret(text)
            } catch {
                throw WebhookError("\(secret): \(error)")
            }
        }
    }
}
