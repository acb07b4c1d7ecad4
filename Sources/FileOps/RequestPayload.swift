internal import Commands
internal import HTTPClient
internal import Operations
internal import Transfers

/// The payload of a `request`, checked.
///
/// ```
/// {"url": "https://host/path?query",
///  "method": "GET",               any token but CONNECT and TRACE
///  "headers": {"X-Tag": "a"},     none by default
///  "body": "text",                at most one of body, json, bodyBase64 and bodyFile
///  "json": {"a": 1},              any JSON value
///  "bodyBase64": "AAEC",
///  "bodyFile": "/data/a.json",    made absolute at submit, where its size and time are recorded as "source"
///  "accept": "2xx,404",           the statuses that are a success; "2xx" by default
///  "redirects": 5,                followed at most; 5 for GET and HEAD, else 0
///  "saveTo": "/data/in/a.json",   the body of a 2xx goes to this file, not into the result; made absolute at submit
///  "maxBody": 1073741824,         bytes of that file at most, decoded; 1 GiB by default
///  "raw": false,                  whether the body stays as it came where it has a Content-Encoding; else it is decoded
///  "keepHeaders": ["x-total"],    response headers that the result has beside the usual ones
///  "timeout": 30,                 seconds for the whole request; 0, the default: as long as bytes move
///  "confined": false}             whether ``Confinement`` holds
/// ```
struct RequestPayload: Sendable, Equatable {
    enum Body: Sendable, Equatable {
        case none
        case text(String)
        case json(JSONValue)
        case base64([UInt8])
        case file(String)
    }

    var url: ResourceURL
    var method = "GET"
    var headers: [HTTPField] = []
    var body = Body.none
    var accept = AcceptedStatuses.standard
    var redirects: Int?
    var keepHeaders: [String] = []
    var timeout: Duration = .zero
    var saveTo: String?
    var maxBody = SavedResponse.defaultMaxBytes
    var isRaw = false
    var isConfined = false
    var source: SourceIdentity?

    static let maxRedirects = 20
    private static let maxTimeout: Int64 = 7 * 86_400
    private static let maxKeptHeaders = 32
    private static let keys =
        "“url”, “method”, “headers”, “body”, “json”, “bodyBase64”, “bodyFile”, “accept”, “redirects”, “saveTo”, "
        + "“maxBody”, “raw”, “keepHeaders”, “timeout” and “confined”"

    /// Reads and checks the payload without touching the file system.
    init(_ value: JSONValue) throws(PayloadError) {
        var reader = try PayloadReader(value, of: "a request", keys: Self.keys)
        url = try ResourceURL(try reader.text("url", isRequired: true) ?? "")
        method = try reader.text("method") ?? method
        headers = try reader.headers("headers")
        body = try Self.body(&reader)
        if let text = try reader.text("accept") { accept = try AcceptedStatuses(text) }
        redirects = try reader.integer("redirects", in: 0...Int64(Self.maxRedirects)).map { Int($0) }
        keepHeaders = try reader.texts("keepHeaders", max: Self.maxKeptHeaders).map { $0.lowercased() }
        timeout = .seconds(try reader.seconds("timeout", in: 0...Self.maxTimeout) ?? 0)
        saveTo = try Self.path(try reader.text("saveTo"))
        if let bytes = try reader.integer("maxBody", in: 0...(1 << 50)) {
            guard saveTo != nil else {
                throw PayloadError(.data, "“maxBody” is of the file that “saveTo” names: give both")
            }
            maxBody = bytes
        }
        isRaw = try reader.flag("raw") ?? false
        isConfined = try reader.flag("confined") ?? false
        if let recorded = reader.take("source") { source = try SourceIdentity(recorded) }
        try reader.finish()
        try check()
    }

    private static func path(_ text: String?) throws(PayloadError) -> String? {
        guard let text else { return nil }
        guard !text.isEmpty, !text.utf8.contains(0), !text.endsWithBytes(of: "/") else {
            throw PayloadError(.data, "“saveTo” is the path of a file, not “\(text.prefix(300))”")
        }
        return text
    }

    private static func body(_ reader: inout PayloadReader) throws(PayloadError) -> Body {
        var bodies: [(key: String, body: Body)] = []
        if let text = try reader.text("body") { bodies.append(("body", .text(text))) }
        if let value = reader.take("json") { bodies.append(("json", .json(value))) }
        if let text = try reader.text("bodyBase64") {
            guard let bytes = Base64.decode(text.utf8) else {
                throw PayloadError(.data, "“bodyBase64” is not base64 (RFC 4648, section 4)")
            }
            bodies.append(("bodyBase64", .base64(bytes)))
        }
        if let path = try reader.text("bodyFile") {
            guard !path.isEmpty, !path.utf8.contains(0) else {
                throw PayloadError(.data, "“bodyFile” is the path of a file, not “\(path)”")
            }
            bodies.append(("bodyFile", .file(path)))
        }
        guard bodies.count < 2 else {
            throw PayloadError(.data, "“\(bodies[0].key)” and “\(bodies[1].key)” exclude each other")
        }
        return bodies.first?.body ?? .none
    }

    private func check() throws(PayloadError) {
        guard url.scheme != .file || ["GET", "HEAD"].contains(method) && headers.isEmpty else {
            throw PayloadError(
                .usage, "only a GET or HEAD without “headers” goes to a file: URL, not \(method) \(url.displayText)")
        }
        guard !method.isEmpty, method.utf8.count <= 32, method.utf8.allSatisfy(\.isTokenCharacter) else {
            throw PayloadError(.data, "“method” is “\(method.prefix(40))”, which is not a method of HTTP")
        }
        guard !["CONNECT", "TRACE"].contains(method.uppercased()) else {
            throw PayloadError(.data, "“method” cannot be \(method): it has no meaning for a queued request")
        }
        guard body == .none || !["GET", "HEAD"].contains(method) else {
            throw PayloadError(
                .data, "a body has no meaning in a \(method) (RFC 9110, section 9.3); send it by POST or PUT")
        }
    }

    /// Whether the request may be sent again after an ambiguous end (RFC 9110, section 9.2.2).
    var isIdempotent: Bool { ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].contains(method) }

    /// Redirects that are followed at most.
    var maxRedirects: Int { redirects ?? (["GET", "HEAD"].contains(method) ? 5 : 0) }

    /// The media type that the body implies; nil without a body.
    var contentType: String? {
        switch body {
        case .none: nil
        case .text: "text/plain; charset=utf-8"
        case .json: "application/json"
        case .base64: MediaType.unknown
        case .file(let path): MediaType.of(fileName: path.lastPathName)
        }
    }

    var json: JSONValue { json(source: source?.json) }

    /// The part of the payload by which two requests under one unique key are equal.
    var identity: JSONValue { json(source: source?.content) }

    private func json(source: JSONValue?) -> JSONValue {
        var members: [JSONValue.Member] = [.init("url", .string(url.text)), .init("method", .string(method))]
        if !headers.isEmpty {
            members.append(.init("headers", .object(headers.map { .init($0.name, .string($0.value)) })))
        }
        switch body {
        case .none: break
        case .text(let text): members.append(.init("body", .string(text)))
        case .json(let value): members.append(.init("json", value))
        case .base64(let bytes): members.append(.init("bodyBase64", .string(Base64.encode(bytes))))
        case .file(let path): members.append(.init("bodyFile", .string(path)))
        }
        if accept != .standard { members.append(.init("accept", .string(accept.text))) }
        if let redirects { members.append(.init("redirects", .integer(Int64(redirects)))) }
        if !keepHeaders.isEmpty { members.append(.init("keepHeaders", .array(keepHeaders.map { .string($0) }))) }
        if let saveTo { members.append(.init("saveTo", .string(saveTo))) }
        if maxBody != SavedResponse.defaultMaxBytes { members.append(.init("maxBody", .integer(maxBody))) }
        if isRaw { members.append(.init("raw", true)) }
        if timeout > .zero { members.append(.init("timeout", .integer(timeout.milliseconds / 1000))) }
        if isConfined { members.append(.init("confined", true)) }
        if let source { members.append(.init("source", source)) }
        return .object(members)
    }
}

/// The statuses that count as success of a `request`: a list such as `2xx,404`.
struct AcceptedStatuses: Sendable, Equatable {
    /// As given.
    let text: String
    private let ranges: [ClosedRange<Int>]

    static let standard = AcceptedStatuses(text: "2xx", ranges: [200...299])

    private init(text: String, ranges: [ClosedRange<Int>]) {
        self.text = text
        self.ranges = ranges
    }

    /// - Throws: ``PayloadError`` for an empty list, and for a member that is neither a status from 200 to 599
    ///   nor `2xx` to `5xx`.
    init(_ text: String) throws(PayloadError) {
        var ranges: [ClosedRange<Int>] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let word = part.trimmed
            if word.utf8.count == 3, word.utf8.dropFirst().elementsEqual("xx".utf8), let first = Int(word.prefix(1)),
                (2...5).contains(first)
            {
                ranges.append(first * 100...first * 100 + 99)
            } else if let status = Int(word), (200...599).contains(status) {
                ranges.append(status...status)
            } else {
                throw PayloadError(
                    .data, "“accept” has “\(word.prefix(40))”; its members are statuses such as 404, or 2xx to 5xx")
            }
        }
        self.init(text: text, ranges: ranges)
    }

    func contains(_ status: Int) -> Bool { ranges.contains { $0.contains(status) } }
}
