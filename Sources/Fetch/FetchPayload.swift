internal import Commands
internal import HTTPClient
internal import Operations
internal import Transfers

/// The payload of a `fetch`, checked.
///
/// ```
/// {"url": "https://api.example.com/quotes",   http, https or file
///  "headers": {"Accept-Language": "en"},      none by default
///  "mode": "both",                            ``FetchNetworkUse``: both, reload, stored or network
///  "maxStale": 3600,                          seconds for which a stale response is used; null, the default:
///                                             as long as its origin permits, and any time while offline
///  "maxBody": 16777216,                       bytes; a longer response is a final failure
///  "partition": "user-7"}                     keeps responses apart, in the place of the secret headers
/// ```
struct FetchPayload: Sendable, Equatable {
    static let defaultMaxBody: Int64 = 16 << 20
    private static let maxPartitionBytes = 256
    private static let keys = "“url”, “headers”, “mode”, “maxStale”, “maxBody” and “partition”"

    var url: ResourceURL
    var headers: [HTTPField]
    var mode = FetchNetworkUse.both
    var maxStale: Duration?
    var maxBody = Self.defaultMaxBody
    var partition: String?

    /// Reads and checks the payload.
    init(_ value: JSONValue) throws(PayloadError) {
        var reader = try PayloadReader(value, of: "a fetch", keys: Self.keys)
        let text = try reader.text("url", isRequired: true) ?? ""
        url = try ResourceURL(String(text.prefix { $0 != "#" }))
        headers = try reader.headers("headers")
        guard url.scheme != .file || headers.isEmpty else {
            throw PayloadError(.data, "“headers” are not valid for a file: URL")
        }
        if let text = try reader.text("mode") {
            guard let mode = FetchNetworkUse(rawValue: text) else {
                throw PayloadError(
                    .data, "“mode” is “\(text.prefix(80))”; it is “both”, “reload”, “stored” or “network”")
            }
            self.mode = mode
        }
        if let value = reader.take("maxStale"), value != .null {
            guard let seconds = value.wholeSeconds, (0...315_360_000).contains(seconds) else {
                throw PayloadError(
                    .data,
                    "“maxStale” must be seconds, from 0, a time such as 10m, or null, not \(value.text.prefix(40))")
            }
            maxStale = .seconds(seconds)
        }
        maxBody = try reader.integer("maxBody", in: 0...(1 << 40)) ?? maxBody
        if let text = try reader.text("partition") {
            guard !text.isEmpty, text.utf8.count <= Self.maxPartitionBytes else {
                throw PayloadError(.data, "“partition” has 1 to \(Self.maxPartitionBytes) bytes")
            }
            partition = text
        }
        try reader.finish()
        for header in headers { try Self.check(header) }
    }

    private static func check(_ header: HTTPField) throws(PayloadError) {
        switch header.lowerName {
        case "range", "if-range", "accept-encoding", "if-none-match", "if-modified-since", "cache-control":
            throw PayloadError(
                .data, "the header “\(header.name)” is how a fetch uses its store, and cannot be set; see “mode”")
        default: break
        }
    }

    /// The payload as it is stored. Values that are the default are left out.
    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("url", .string(url.text))]
        if !headers.isEmpty {
            members.append(.init("headers", .object(headers.map { .init($0.name, .string($0.value)) })))
        }
        if mode != .both { members.append(.init("mode", .string(mode.rawValue))) }
        if let maxStale { members.append(.init("maxStale", .integer(maxStale.wholeSeconds))) }
        if maxBody != Self.defaultMaxBody { members.append(.init("maxBody", .integer(maxBody))) }
        if let partition { members.append(.init("partition", .string(partition))) }
        return .object(members)
    }

    /// The unique key of the command: two fetches of one response join where they ask in the same way.
    func uniqueKey(of request: FetchRequest) -> String {
        let stale = maxStale.map { String($0.wholeSeconds) } ?? "any"
        return "\(CacheKey.uniqueKey(of: request)):\(mode.rawValue):\(stale):\(maxBody)"
    }

    /// The request for one URL of the chain of redirects.
    /// - Parameter credential: the destination whose credential is used; nil without one.
    func request(for url: ResourceURL, _ headers: [HTTPField], credential: Destination?) -> FetchRequest {
        let fields = HeaderFields(headers)
        return FetchRequest(
            url: CacheKey.normalized(url),
            partition: CachePartition.text(name: partition, credential: credential?.text, headers: fields),
            headers: fields, mode: mode, maxStale: maxStale)
    }
}
