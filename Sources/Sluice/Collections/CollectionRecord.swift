public import Commands
internal import Sync

/// A record of a collection.
public struct CollectionRecord: Sendable, Equatable {
    /// The key as the collection has it: `s:` and the text of a string, or `n:` and the digits of a number.
    /// ``CollectionHandle/record(_:)`` also takes it without the prefix.
    public var key: String
    /// JSON, byte for byte as it came.
    public var body: String
    /// The revision of the collection that changed the record last.
    public var revision: Int64
    /// Whether the record was changed on this side, and not by a sync.
    public var isLocal: Bool

    /// The body as a value. It rounds numbers beyond 64 bits, which ``body`` has exactly.
    public var value: JSONValue { (try? JSONValue(parsing: body.utf8)) ?? .null }

    /// Makes a record, for example for a test.
    public init(key: String, body: String, revision: Int64 = 1, isLocal: Bool = false) {
        self.key = key
        self.body = body
        self.revision = revision
        self.isLocal = isLocal
    }

    init(_ record: CollectionReader.Record) {
        self.init(key: record.key, body: record.body, revision: record.rev, isLocal: record.isLocal)
    }
}
