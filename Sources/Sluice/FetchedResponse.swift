internal import Commands
internal import Fetch

/// A response that ``SluiceClient/fetch(_:headers:mode:maxStale:options:)`` brings.
public struct FetchedResponse: Sendable, Equatable {
    /// Where the body comes from.
    public enum Source: String, Sendable {
        /// From the server, just now.
        case network
        /// From the store, confirmed by the server just now.
        case notModified
        /// From the store.
        case stored
    }

    /// Where the body comes from.
    public var source: Source
    /// The HTTP status, 200…599.
    public var status: Int
    /// Header fields by name, in lower case; those that say how to use the body.
    public var headers: [String: String]
    /// The whole body, unless ``isTruncated``. A response with `no-store` can be read once.
    public var body: [UInt8]
    /// Whether the body has only its first 64 KiB: the response was longer, and may not be stored.
    public var isTruncated: Bool
    /// Since the server made or confirmed it. Nil: unknown.
    public var age: Duration?
    /// Whether the response is stale: its server may have a newer one.
    public var isStale: Bool

    /// - Parameter result: as the command has it.
    /// - Throws: ``SluiceError`` `failed` where the stored body cannot be read.
    init(_ result: JSONValue) throws(SluiceError) {
        source = result["source"]?.string.flatMap { Source(rawValue: $0) } ?? .stored
        status = Int(result["status"]?.integer ?? 0)
        let fields = result["headers"]?.members ?? []
        headers = Dictionary(fields.map { ($0.name, $0.value.string ?? "") }) { first, _ in first }
        isTruncated = result["bodyTruncated"]?.bool ?? false
        age = result["age"]?.integer.map { .seconds($0) }
        isStale = result["stale"]?.bool ?? false
        do { body = try StoredFetch.body(of: result) } catch { throw SluiceError(.failed, "\(error)") }
    }
}

/// When ``SluiceClient/fetch(_:headers:mode:maxStale:options:)`` asks the network.
public enum FetchMode: String, Sendable, CaseIterable {
    /// Brings the stored response at once and asks, unless the stored one is fresh.
    case both
    /// Asks always, and takes only a response that the server has just confirmed.
    case reload
    /// Never asks.
    case stored
    /// Asks first; the stored response is the answer to an error that permits it.
    case network
}
