internal import Commands
internal import Transfers

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
