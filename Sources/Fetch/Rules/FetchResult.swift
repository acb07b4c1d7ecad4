internal import Commands
internal import Transfers

/// The answer of a fetch, without its body.
struct FetchResult: Sendable, Equatable {
    var source: FetchSource
    var status: Int
    /// Since its origin made or confirmed it; nil: unknown.
    var age: Duration?
    /// Nil while it is fresh, and after its origin was asked.
    var staleBecause: StaleReason?
    /// Whether status or body differ from the ones that were stored before.
    var changed: Bool
    /// To display, with the current `Age` of a stored response.
    var headers: HeaderFields
    /// Length of the body.
    var bytes: Int64
    /// Of the body, in hexadecimal.
    var sha256: String
    /// How long no request is needed.
    var freshFor: Duration
    var etag: String?
    /// The content coding that was taken off a body that has just arrived.
    var decoded: String?
    /// `no-store`: neither headers nor body go into the result or its event, only the status.
    private(set) var isWithheld = false

    var isStale: Bool { staleBecause != nil }
}

extension FetchResult {
    /// A stored response as it is shown. `Age` replaces the one that it arrived with (RFC 9111, section 4).
    init(_ answer: StoredAnswer, now: Timestamp) {
        self.init(answer.response, source: .stored, changed: false, now: now)
        staleBecause = answer.staleBecause
    }

    /// - Parameter response: as it stands after the exchange.
    init(_ response: StoredResponse, source: FetchSource, changed: Bool, now: Timestamp) {
        let age = response.age(at: now)
        let line = age.map { [HTTPField("Age", "\($0.wholeSeconds)")] } ?? []
        self.init(
            source: source, status: response.status, age: age, changed: changed,
            headers: source == .network ? response.headers : response.headers.removing(["age"]).appending(line),
            bytes: response.bytes, sha256: response.sha256, freshFor: response.freshFor(at: now),
            etag: response.etag?.text, isWithheld: false)
    }

    /// Removes everything that `no-store` forbids to store.
    mutating func withhold() {
        isWithheld = true
        (headers, bytes, sha256, etag) = (HeaderFields(), 0, "", nil)
        freshFor = .zero
    }

    /// The stage of its event.
    /// - Parameter isFirst: shown while the origin is asked.
    func stage(isFirst: Bool) -> FetchStage {
        switch source {
        case .network: .fresh
        case .notModified: .notModified
        case .stored: isStale && !isFirst ? .stale : .stored
        }
    }

    /// The members of a result, without `headers` and the body.
    var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("source", .string(source.rawValue)), .init("status", .integer(Int64(status))),
        ]
        guard !isWithheld else { return members }
        members += [
            .init("age", age.map { .integer($0.wholeSeconds) } ?? .null), .init("stale", .bool(isStale)),
        ]
        if let staleBecause { members.append(.init("staleBecause", .string(staleBecause.rawValue))) }
        members += [
            .init("changed", .bool(changed)), .init("bytes", .integer(bytes)), .init("sha256", .string(sha256)),
            .init("freshFor", .integer(freshFor.wholeSeconds)), .init("etag", etag.map { .string($0) } ?? .null),
        ]
        if let decoded { members.append(.init("decoded", .string(decoded))) }
        return members
    }
}

/// Where the body of an answer comes from.
enum FetchSource: String, Sendable, CaseIterable {
    /// From the origin, just now.
    case network
    /// From the store, confirmed by the origin just now.
    case notModified
    /// From the store.
    case stored
}

/// The `stage` of an event `response/<uuid>`.
enum FetchStage: String, Sendable, CaseIterable {
    /// A stored response is shown before the first byte of the request goes out.
    case stored
    /// A new response has arrived.
    case fresh
    /// The origin has confirmed the stored response.
    case notModified
    /// The stored response is the answer after a failure.
    case stale
    /// There is no answer.
    case failed
}

/// An event `response/<uuid>` of a fetch: a hint to programs that show the response.
enum FetchEvent {
    /// Of an answer.
    /// - Parameters:
    ///   - isFirst: it is shown while the origin is asked.
    ///   - url: to display, after redirects.
    static func body(_ result: FetchResult, isFirst: Bool, url: String, at: Timestamp) -> JSONValue {
        var members = head(url, result.stage(isFirst: isFirst), at)
        members.append(.init("status", .integer(Int64(result.status))))
        guard !result.isWithheld else { return .object(members) }
        members += [
            .init("age", result.age.map { .integer($0.wholeSeconds) } ?? .null),
            .init("changed", .bool(result.changed)),
            .init("bytes", .integer(result.bytes)),
        ]
        return .object(members)
    }

    /// Of an execution that brings no answer.
    static func failed(url: String, at: Timestamp) -> JSONValue { .object(head(url, .failed, at)) }

    private static func head(_ url: String, _ stage: FetchStage, _ at: Timestamp) -> [JSONValue.Member] {
        [
            .init("url", .string(url)), .init("stage", .string(stage.rawValue)), .init("at", .string(at.description)),
        ]
    }
}
