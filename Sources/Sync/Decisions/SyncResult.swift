internal import Commands
internal import Transfers

/// The result of a sync.
struct SyncResult: Sendable, Equatable {
    /// The revision of the collection after it.
    var rev: Int64 = 0
    /// Elements of the list.
    var records = 0
    var inserted = 0
    var updated = 0
    var unchanged = 0
    var deleted = 0
    var duplicates = 0
    var pages: Int64 = 0
    /// Of the bodies.
    var bytes: Int64 = 0
    /// The server answered 304.
    var notModified = false
    /// The whole list was read, not changes only.
    var full = false
    /// The point from which the next sync asks for changes.
    var token: String?
    /// Reads that were begun again: the list moved, or a token or cursor was refused.
    var restarted = 0
    var rejects = RejectLog()
    /// The content coding that was taken off the pages.
    var decoded: String?
    /// Why the read may not be the whole list.
    var partial: String?
    /// Why rows that are missing in the list were not deleted.
    var retained: String?

    /// The end of the command where its pages have too many bytes; nothing is applied.
    func refusal(_ payload: SyncPayload) -> CommandFailure? {
        if let refusal = rejects.refusal(payload) { return refusal }
        guard bytes > payload.maxBytes else { return nil }
        var failure = CommandFailure(
            .final,
            reason: "the pages of \(payload.url.displayText) have more than \(payload.maxBytes) bytes; nothing was "
                + "written; raise “maxBytes” if the list is larger")
        failure.isAnswer = true
        return failure
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = [.init("rev", .integer(rev))]
        let counts = [
            ("records", records), ("inserted", inserted), ("updated", updated), ("unchanged", unchanged),
            ("deleted", deleted), ("rejected", rejects.count), ("duplicates", duplicates),
        ]
        members += counts.map { .init($0.0, .integer(Int64($0.1))) }
        members += [
            .init("pages", .integer(pages)), .init("bytes", .integer(bytes)), .init("notModified", .bool(notModified)),
            .init("full", .bool(full)), .init("token", token.map { .string($0) } ?? nil),
            .init("restarted", .integer(Int64(restarted))), .init("rejects", rejects.json),
        ]
        if let decoded { members.append(.init("decoded", .string(decoded))) }
        if let partial { members.append(.init("partial", .string(partial))) }
        if let retained { members.append(.init("retained", .string(retained))) }
        return .object(members)
    }
}

/// The records of a sync that were left out, of which the result shows the first ones.
struct RejectLog: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var page: Int64
        var index: Int
        var key: RecordKey?
        var reason: String
    }

    /// Entries in the result.
    static let maxEntries = 100

    private(set) var count = 0
    private(set) var countWithoutKey = 0
    private(set) var entries: [Entry] = []

    init() {}

    /// Goes on with the log of an earlier execution.
    /// - Parameter entries: the first ones.
    init(count: Int, withoutKey: Int, entries: [Entry]) {
        self.count = count
        countWithoutKey = withoutKey
        self.entries = Array(entries.prefix(Self.maxEntries))
    }

    mutating func add(_ entry: Entry) {
        count += 1
        if entry.key == nil { countWithoutKey += 1 }
        if entries.count < Self.maxEntries { entries.append(entry) }
    }

    /// The end of the command where too many were rejected; nothing is applied.
    func refusal(_ payload: SyncPayload) -> CommandFailure? {
        guard count > payload.maxRejects else { return nil }
        let first = entries.first.map { "; the first, record \($0.index) of page \($0.page): \($0.reason)" } ?? ""
        var failure = CommandFailure(
            .final,
            reason: "more than \(payload.maxRejects) records of \(payload.url.displayText) were rejected\(first); "
                + "nothing was written; correct “key” and “items”, or raise “maxRejects”")
        failure.isAnswer = true
        return failure
    }

    var json: JSONValue {
        .array(
            entries.map { entry in
                [
                    "page": .integer(entry.page), "index": .integer(Int64(entry.index)),
                    "key": entry.key.map { .string($0.text) } ?? nil, "reason": .string(entry.reason),
                ]
            })
    }
}
