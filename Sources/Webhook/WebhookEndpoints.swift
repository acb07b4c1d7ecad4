package import Commands
internal import HTTPClient
package import Settings
internal import Transfers

/// The receivers of webhooks in sluice.yaml. A message is sent only where one of them has the origin of its
/// URL, so that no receiver gets a signature that is meant for another one.
package struct WebhookEndpoints: Sendable, Equatable {
    private var endpoints: [WebhookEndpoint] = []

    package init() {}

    init(_ endpoints: [WebhookEndpoint]) { self.endpoints = endpoints }

    /// The names and origins, in their order.
    package var origins: [(name: String, origin: Destination)] { endpoints.map { ($0.name, $0.origin) } }

    /// The names of the environment variables that hold secrets.
    package var variables: Set<String> {
        Set(
            endpoints.flatMap(\.secrets).compactMap { secret in
                if case .environment(let name) = secret { name } else { nil }
            })
    }

    /// Reads the list `webhooks` and, for each name in it, the section `webhook.<name>`:
    ///
    /// | key | default | meaning |
    /// |---|---|---|
    /// | `origin` | | scheme, host and port of the receiver, as in `https://hooks.example.com` |
    /// | `secretFiles` | none | a list of files with one secret each, `whsec_…` or `whsk_…` |
    /// | `secretEnvironments` | none | a list of environment variables with one secret each |
    /// | `timeout` | 20 | seconds from the start of an attempt to the response |
    ///
    /// - Throws: ``SettingsError`` naming the key. The secrets themselves are not read here.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        for name in try reader.list(["webhooks"]) { endpoints.append(try Self.endpoint(name, &reader)) }
    }

    private static func endpoint(
        _ name: String, _ reader: inout SettingsReader
    ) throws(SettingsError) -> WebhookEndpoint {
        let section = ["webhook", name]
        func refusal(_ key: String, _ problem: String) -> SettingsError {
            SettingsError(key: (section + [key]).joined(separator: "."), problem: problem)
        }
        guard let origin = try reader.origin(section), HTTPOrigin(origin) != nil else {
            throw refusal("origin", "is missing, or is not an origin of http or https")
        }
        let secrets =
            try reader.list(section + ["secretFiles"]).map { Secret.file($0) }
            + reader.list(section + ["secretEnvironments"]).map { Secret.environment($0) }
        guard (1...WebhookSignature.maxSecrets).contains(secrets.count) else {
            throw refusal(
                "secretFiles",
                "and secretEnvironments name \(secrets.count) secrets; give 1 to \(WebhookSignature.maxSecrets)")
        }
        var timeout = WebhookEndpoint.defaultTimeout
        try reader.read(&timeout, section + ["timeout"])
        guard WebhookEndpoint.timeouts.contains(timeout) else {
            throw refusal("timeout", "takes 1 to 600 seconds, not \(timeout)")
        }
        return WebhookEndpoint(name: name, origin: origin, secrets: secrets, timeout: timeout)
    }

    /// Why no worker with these endpoints could send a message.
    /// - Parameter payload: of a command of the type `webhook`.
    /// - Returns: nil where an endpoint is found, and for a payload that is refused at submit.
    package func objection(to payload: [UInt8]) -> String? {
        guard let value = try? JSONValue(parsing: payload), let message = try? WebhookPayload(value) else { return nil }
        do throws(CommandFailure) {
            _ = try endpoint(for: message)
            return nil
        } catch {
            return error.reason
        }
    }

    /// Why a message without an endpoint cannot be sent: several endpoints have its origin, which no waiting mends.
    /// - Parameter payload: of a command of the type `webhook`.
    package func ambiguity(of payload: [UInt8]) -> String? {
        guard let value = try? JSONValue(parsing: payload), let message = try? WebhookPayload(value),
            message.endpoint == nil
        else { return nil }
        let found = endpoints.filter { $0.origin == message.url.destination }
        return found.count > 1 ? Self.ambiguity(found, message.url.destination) : nil
    }

    private static func ambiguity(_ found: [WebhookEndpoint], _ destination: Destination) -> String {
        "the webhook endpoints \(found.map { "“\($0.name)”" }.joined(separator: " and ")) have the origin "
            + "\(destination); name one of them as “endpoint”"
    }

    /// The endpoint of a message.
    /// - Throws: ``CommandFailure``: `credential` where sluice.yaml lacks the endpoint, because it may be
    ///   added; `final` where it contradicts the payload.
    func endpoint(for message: WebhookPayload) throws(CommandFailure) -> WebhookEndpoint {
        let destination = message.url.destination
        if let name = message.endpoint {
            guard let endpoint = endpoints.first(where: { $0.name == name }) else {
                throw CommandFailure(
                    .credential,
                    reason: "sluice.yaml has no webhook endpoint “\(name)”; add it, and restart the workers")
            }
            guard endpoint.origin == destination else {
                throw CommandFailure(
                    .final,
                    reason: "the webhook endpoint “\(name)” is for \(endpoint.origin), not for \(destination); name "
                        + "another one, or correct its origin in sluice.yaml")
            }
            return endpoint
        }
        let found = endpoints.filter { $0.origin == destination }
        guard let endpoint = found.first else {
            if let objection = message.objection(allowsPlain: false) { throw CommandFailure(.final, reason: objection) }
            throw CommandFailure(
                .credential,
                reason: "sluice.yaml has no webhook endpoint with the origin \(destination), so that no secret can "
                    + "sign the message; add one, and restart the workers")
        }
        guard found.count == 1 else {
            throw CommandFailure(.final, reason: Self.ambiguity(found, destination))
        }
        return endpoint
    }
}

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
