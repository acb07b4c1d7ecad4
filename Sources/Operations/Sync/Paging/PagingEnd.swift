/// Whether a read of all pages is the whole list.
enum PagingEnd: Sendable, Equatable {
    case complete
    /// - Parameter because: a clause without a subject of its own, in the result.
    case partial(because: String)
}
