internal import Commands

/// The decision after an answer to a page.
enum PagingStep: Sendable, Equatable {
    case page(PageRequest)
    case end(PagingEnd)
    case failure(CommandFailure)
}
