package import Commands
internal import Console
package import HTTPClient
internal import Host
internal import NIOCore
internal import NIOHTTP1
internal import Store
package import Transfers
package import Uploads

/// `door.uploadHook`: asks the site over HTTP before an upload is created, as the hook `pre-create` of tusd does.
///
/// One POST for each creation, whatever its protocol, with `{"route", "name", "length", "metadata", "contentType", "part",
/// "token"}`; the credential of its origin is sent along. ``UploadHookAnswer`` has the meaning of the answers. Redirects are
/// not followed. No thread waits for an answer.
package final class UploadHook: UploadAdmission {
    /// From the request to the end of the answer. The clients of uploads wait for a minute and more.
    package static let defaultTimeout: Duration = .seconds(5)
    /// Connections to the site; further creations wait for one of them, within the time of their own.
    private static let maxConnections = 64
    /// The site may close a connection that is idle for longer, and a request that crosses with that is lost.
    private static let maxIdle: Duration = .seconds(1)

    private let url: ResourceURL
    private let origin: HTTPOrigin
    private let credential: Credential?
    private let timeout: Duration
    private let client: HTTPClient

    /// - Parameters:
    ///   - credential: of the origin of the URL.
    ///   - client: certificates and proxies, as operations use them.
    /// - Returns: nil for a URL that is not of http or https.
    package init?(
        _ url: ResourceURL, credential: Credential?, client configuration: HTTPClientConfiguration,
        timeout: Duration = UploadHook.defaultTimeout
    ) {
        guard let origin = HTTPOrigin(url.destination) else { return nil }
        var configuration = configuration
        configuration.connectTimeout = min(configuration.connectTimeout, timeout)
        configuration.connectionsPerOrigin = Self.maxConnections
        self.url = url
        self.origin = origin
        self.credential = credential
        self.timeout = timeout
        client = HTTPClient(configuration: configuration)
    }

    package func decision(on facts: UploadFacts, length: Int64?) async throws(UploadError) -> UploadDecision {
        var headers: HTTPHeaders = [
            "Content-Type": "application/json", "Accept": "application/json, application/problem+json",
            "User-Agent": "sluice",
        ]
        var secret: String?
        if let credential {
            do throws(SecretError) {
                let field = try await BlockingPool.shared.run { () throws(SecretError) in try credential.header() }
                headers.replaceOrAdd(name: field.name, value: field.value)
                secret = field.value
            } catch {
                throw failure("cannot be asked: \(error)")
            }
        }
        var request = HTTPRequest(.POST, origin, target: url.path + url.query, headers: headers)
        request.options.maxIdle = Self.maxIdle
        request.options.bodyTimeout = nil
        let body = Self.question(facts, length: length).bytes
        guard
            var record = await client.send(
                request, body: body, maxAnswer: UploadHookAnswer.maxSize, within: timeout)
        else { throw failure("has not answered within \(timeout.roundText)") }
        SecretValues(credential: secret, headers: []).redact(&record)
        guard let status = record.status, status < 500 else {
            let verdict = HTTPVerdict(
                request: "POST \(url.displayText)", destination: url.destination, now: .now)
            throw failure("has not decided: \(verdict.failure(record)?.reason ?? "the connection ended")")
        }
        let whole = record.isComplete ? Array(record.body.readableBytesView) : nil
        switch UploadHookAnswer(status: status, body: whole) {
        case .admitted(let decision): return decision
        case .refused(let reason): throw UploadError(.refused, reason)
        case .unusable(let problem): throw failure(problem)
        }
    }

    private static func question(_ facts: UploadFacts, length: Int64?) -> JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        let metadata = RouteFacts.metadata(facts.metadata ?? "").sorted { $0.key < $1.key }
        return [
            "route": text(facts.route), "name": text(facts.fileName),
            "length": length.map { .integer($0) } ?? .null,
            "metadata": .object(metadata.map { .init($0.key, .string($0.value)) }),
            "contentType": text(facts.contentType), "part": .bool(facts.concatenation == .partial),
            "token": text(facts.tokenName),
        ]
    }

    /// - Parameter problem: ends “the upload hook URL …”.
    private func failure(_ problem: String) -> UploadError {
        var failure = UploadError.noDecision
        failure.cause = "The upload hook \(url.displayText) \(problem)."
        return failure
    }
}
