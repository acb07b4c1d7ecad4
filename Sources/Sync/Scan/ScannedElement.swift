/// One element of a list in the body of a page.
struct ScannedElement: Sendable {
    var list: ScanPlan.List
    /// From 0, in the list.
    var index: Int
    /// The exact bytes, without white space around them; empty where they were not held
    /// (``RecordProblem/tooLarge(bytes:max:)``).
    var bytes: ArraySlice<UInt8>
    /// Why it is left out; nil: it is valid JSON.
    var problem: RecordProblem?
    /// Where the values of ``ScanPlan/fields`` stand, as indices of ``bytes``.
    var fields: [Range<Int>?]

    /// The JSON text of a field; nil where the record has none.
    func field(_ position: Int) -> ArraySlice<UInt8>? {
        guard position < fields.count, let range = fields[position] else { return nil }
        return bytes[range]
    }
}
