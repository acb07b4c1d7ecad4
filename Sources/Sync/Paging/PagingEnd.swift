/// Whether a read of all pages is the whole list.
enum PagingEnd: Sendable, Equatable {
    case complete
    /// Every page came, and the list changed between them: the pages state different totals.
    case moved
    /// - Parameter because: a clause without a subject of its own, in the result.
    case partial(because: String)

    var isPartial: Bool {
        if case .partial = self { true } else { false }
    }
}
