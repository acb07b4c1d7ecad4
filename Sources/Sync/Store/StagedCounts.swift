internal import Commands

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
