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
