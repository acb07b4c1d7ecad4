internal import Commands
internal import Crypto

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

/// The hash by which two bodies are compared: the first 16 bytes of their SHA-256.
struct RecordHash: Sendable, Equatable {
    private let words: (first: UInt64, second: UInt64)

    init(_ body: ArraySlice<UInt8>) {
        words = body.withUnsafeBytes { bytes in
            var hash = SHA256()
            hash.update(bufferPointer: bytes)
            return hash.finalize().withUnsafeBytes { digest in
                (digest.loadUnaligned(as: UInt64.self), digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        }
    }

    static func == (left: RecordHash, right: RecordHash) -> Bool { left.words == right.words }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: words, body)
    }
}

/// The counts of the staged pages, which are committed with them: a later execution that goes on behind them
/// reports the whole read.
struct StagedCounts: Sendable, Equatable {
    var records = 0
    var duplicates = 0
    var pages: Int64 = 0
    var bytes: Int64 = 0
    var restarted = 0
    var rejected = 0
    var rejectedWithoutKey = 0

    init() {}

    init?(_ text: String) {
        guard let value = try? JSONValue(parsing: text.utf8), let numbers = value.elements?.compactMap(\.integer),
            numbers.count == 7, numbers.allSatisfy({ $0 >= 0 })
        else { return nil }
        (records, duplicates, pages) = (Int(numbers[0]), Int(numbers[1]), numbers[2])
        (bytes, restarted) = (numbers[3], Int(numbers[4]))
        (rejected, rejectedWithoutKey) = (Int(numbers[5]), Int(numbers[6]))
    }

    init(_ result: SyncResult) {
        (records, duplicates, pages, bytes) = (result.records, result.duplicates, result.pages, result.bytes)
        (restarted, rejected) = (result.restarted, result.rejects.count)
        rejectedWithoutKey = result.rejects.countWithoutKey
    }

    var text: String { "[\(records),\(duplicates),\(pages),\(bytes),\(restarted),\(rejected),\(rejectedWithoutKey)]" }
}
