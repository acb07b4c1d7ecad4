/// One element of a page, ready to be staged.
struct StagedRecord: Sendable, Equatable {
    /// In the column `kind`.
    enum Kind: Int, Sendable {
        case record = 0
        /// A record of the list that says of itself that it is deleted.
        case tombstone = 1
        /// A key of the list of deleted records.
        case deletedKey = 2
        /// A record that is left out and whose key is known. It keeps its row from being deleted as missing.
        case rejected = 3

        var list: ScanPlan.List { self == .deletedKey ? .deletedItems : .items }
    }

    var key: String
    /// From 0, in its list.
    var index: Int
    var kind: Kind
    /// ``RecordVersion/stored``
    var version: String?
    /// Of the body; nil where it is not a record.
    var hash: RecordHash?
    /// Valid JSON: its place in ``StagedBatch/bodies``; nil where it is not a record.
    fileprivate(set) var body: Range<Int>?

    init(key: String, index: Int, kind: Kind, version: String? = nil) {
        self.key = key
        self.index = index
        self.kind = kind
        self.version = version
    }
}

/// Elements that are staged at once. Their bodies stand one after the other in one buffer: a body of its own
/// would cost an allocation, and a slice would retain the whole part of the page that it arrived in.
struct StagedBatch: Sendable {
    private(set) var records: [StagedRecord] = []
    private(set) var bodies: [UInt8] = []

    var isEmpty: Bool { records.isEmpty }

    mutating func append(_ record: StagedRecord) { records.append(record) }

    mutating func append(_ record: StagedRecord, body: ArraySlice<UInt8>) {
        var record = record
        record.hash = RecordHash(body)
        record.body = bodies.count..<bodies.count + body.count
        bodies += body
        records.append(record)
    }

    /// Gives the elements away. The memory of the next batch is reserved once.
    mutating func take() -> StagedBatch {
        let batch = self
        (records, bodies) = ([], [])
        records.reserveCapacity(batch.records.count)
        bodies.reserveCapacity(batch.bodies.count)
        return batch
    }
}
