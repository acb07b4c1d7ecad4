/// The change of the store that an exchange demands, in one transaction with the body's publication.
enum StoreChange: Sendable, Equatable {
    case none
    /// Write the row, over one with the same key. Delete the row of `replacing`, which answered this request
    /// before under another key.
    case write(StoredResponse, replacing: CacheKey?)
    /// Delete the row: its resource is gone, or it must not be stored any longer.
    case remove(CacheKey)

    var isWrite: Bool {
        if case .write = self { true } else { false }
    }
}
