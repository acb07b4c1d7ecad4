/// A staged record, or a key of the list of deleted ones.
struct RemoteChange: Sendable, Equatable {
    var isTombstone = false
    var version: RecordVersion?
}
