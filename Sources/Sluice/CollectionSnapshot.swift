public import Commands
internal import Sync

/// Records of a collection, all of one revision.
public struct CollectionSnapshot: Sendable, Equatable {
    /// The revision, from 0 for a collection that does not exist yet. It grows with each sync, and each
    /// change on this side, that changes a record.
    public var revision: Int64
    /// In the order of their keys.
    public var records: [CollectionRecord]

    /// Makes a snapshot, for example for a test.
    public init(revision: Int64, records: [CollectionRecord]) {
        self.revision = revision
        self.records = records
    }
}

/// The records that were changed between two revisions of a collection.
public struct CollectionChanges: Sendable, Equatable {
    /// The later revision. The next question for changes names it.
    public var revision: Int64
    /// The records that were inserted or updated, as they are at ``revision``, in the order of their keys.
    public var changed: [CollectionRecord]
    /// The keys of the records that were deleted.
    public var deleted: [String]

    /// Whether no record was changed.
    public var isEmpty: Bool { changed.isEmpty && deleted.isEmpty }

    /// Makes changes, for example for a test.
    public init(revision: Int64, changed: [CollectionRecord] = [], deleted: [String] = []) {
        self.revision = revision
        self.changed = changed
        self.deleted = deleted
    }
}

/// A step of ``CollectionHandle/updates(since:)``.
public enum CollectionUpdate: Sendable, Equatable {
    /// All records: the beginning of a sequence, and the way on where single changes are not known any more.
    case all(CollectionSnapshot)
    /// The changes since the step before.
    case changes(CollectionChanges)

    /// The revision after the step.
    public var revision: Int64 {
        switch self {
        case .all(let snapshot): snapshot.revision
        case .changes(let changes): changes.revision
        }
    }
}

/// The end of a change on this side.
public struct CollectionRevision: Sendable, Equatable {
    /// The revision of the collection after it.
    public var revision: Int64
    /// Records that were inserted.
    public var inserted: Int
    /// Records that were replaced by another body.
    public var updated: Int
    /// Records that had the same body.
    public var unchanged: Int
    /// Records that were deleted.
    public var deleted: Int

    /// Makes the end of a change, for example for a test.
    public init(revision: Int64, inserted: Int = 0, updated: Int = 0, unchanged: Int = 0, deleted: Int = 0) {
        self.revision = revision
        self.inserted = inserted
        self.updated = updated
        self.unchanged = unchanged
        self.deleted = deleted
    }
}

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
