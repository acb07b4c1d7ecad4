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

/// The meaning of the answer of the upload hook. Pure.
///
/// | answer | meaning |
/// |---|---|
/// | 2xx without a body | the upload is created as the client has stated it |
/// | 2xx with an object of JSON | the same; `name`, `metadata` (texts by key) and `uniqueKey` replace what they name |
/// | 408, 429 | the site cannot answer now |
/// | other 4xx | the upload is refused, with the `detail` of a problem document (RFC 9457) |
/// | any other; a body that is not whole, is too long, or has other members | the site cannot answer now |
enum UploadHookAnswer: Equatable {
    case admitted(UploadDecision)
    /// The sentence is for the client.
    case refused(String)
    /// The clause is for the log.
    case unusable(String)

    /// Bytes of a body.
    static let maxSize = 64 << 10
    /// Characters of a `detail`.
    private static let maxDetail = 300

    /// - Parameters:
    ///   - status: of the final response.
    ///   - body: nil where it is longer than ``maxSize``, or was cut.
    init(status: Int, body: [UInt8]?) {
        switch status {
        case 200..<300:
            guard let body else {
                self = .unusable(
                    "has answered \(status) with a body that was cut, or has more than \(Self.maxSize) bytes")
                return
            }
            do throws(Refusal) { self = .admitted(try Self.decision(body)) } catch {
                self = .unusable("has answered \(status), and \(error.clause)")
            }
        case 300..<400: self = .unusable("has answered \(status); redirects are not followed")
        case 408, 429: self = .unusable("has answered \(status)")
        case 400..<500: self = .refused(Self.detail(body))
        default: self = .unusable("has answered \(status)")
        }
    }

    private static func detail(_ body: [UInt8]?) -> String {
        let stated = body.flatMap { try? JSONValue(parsing: $0) }?["detail"]?.string
        let line = stated.map { SingleLine.text($0, limit: maxDetail) } ?? ""
        return line.isEmpty ? "The site does not take this upload." : line
    }

    private struct Refusal: Error {
        var clause: String
    }

    private static func decision(_ body: [UInt8]) throws(Refusal) -> UploadDecision {
        var decision = UploadDecision()
        guard body.contains(where: { !" \t\r\n".utf8.contains($0) }) else { return decision }
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue(parsing: body) } catch {
            throw Refusal(clause: "its body is not valid JSON: \(error)")
        }
        guard let members = value.members else { throw Refusal(clause: "its body is not an object of JSON") }
        for member in members where member.value != .null {
            switch member.name {
            case "name": decision.fileName = try text(member.value, "name")
            case "uniqueKey": decision.uniqueKey = try text(member.value, "uniqueKey")
            case "metadata": decision.metadata = try metadata(member.value)
            default:
                throw Refusal(
                    clause: "it may set name, metadata and uniqueKey, not “\(member.name.excerpt)”")
            }
        }
        return decision
    }

    private static func metadata(_ value: JSONValue) throws(Refusal) -> [String: String] {
        guard let members = value.members, members.count <= TusMetadata.maxKeys else {
            throw Refusal(clause: "“metadata” is not an object of at most \(TusMetadata.maxKeys) texts")
        }
        var metadata: [String: String] = [:]
        for member in members {
            guard let text = member.value.string, ClientText.refusal(member.name) == nil,
                ClientText.refusal(text) == nil
            else {
                throw Refusal(clause: "“metadata.\(member.name.excerpt)” is not a text without control characters")
            }
            metadata[member.name] = text
        }
        return metadata
    }

    private static func text(_ value: JSONValue, _ name: String) throws(Refusal) -> String {
        guard let text = value.string, !text.isEmpty, ClientText.refusal(text) == nil else {
            throw Refusal(clause: "“\(name)” is not a text without control characters")
        }
        return text
    }
}
