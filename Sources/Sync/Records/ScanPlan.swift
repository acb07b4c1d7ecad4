internal import Commands
internal import Transfers

/// Which parts of a body a ``RecordScanner`` finds.
struct ScanPlan: Sendable {
    enum Format: String, Sendable, CaseIterable {
        /// One JSON text with the list in it.
        case json
        /// A record a line.
        case ndjson
    }

    /// A list whose elements are read one by one.
    enum List: Int, Sendable, CaseIterable {
        case items, deletedItems
    }

    var format = Format.json
    /// The array of the records.
    var items = JSONPointer.root
    /// The array of the keys of deleted records.
    var deletedItems: JSONPointer?
    /// Values beside the lists: the next cursor, the total, the token. Each is kept up to ``maxValue`` bytes.
    var values: [JSONPointer] = []
    /// More values beside the lists, which a body may have. A name that occurs twice does no harm there.
    var signs: [JSONPointer] = []
    /// Values within each record: its key, version, flag of deletion and cursor.
    var fields: [JSONPointer] = []
    /// Bytes of a record. A larger one is skipped and never held.
    var maxRecord = 1 << 20

    /// Bytes of one of ``values``, as JSON text.
    static let maxValue = EnvelopeValue.maxSize

    /// The first two pointers of which one lies within the other, so that a scanner could find only one.
    static func overlap(lists: [JSONPointer], values: [JSONPointer]) -> (outer: JSONPointer, inner: JSONPointer)? {
        let all = lists + values
        for (position, first) in all.enumerated() {
            for second in all[(position + 1)...] {
                // Two values may be the same one, but not a list.
                if first == second, position >= lists.count { continue }
                if first.contains(second) { return (first, second) }
                if second.contains(first) { return (second, first) }
            }
        }
        return nil
    }
}
