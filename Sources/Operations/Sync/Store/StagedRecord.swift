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
    /// Of the body; empty where it is not a record.
    var hash: [UInt8] = []
    /// Valid JSON; nil where it is not a record.
    var body: String?
}
