/// The page with which a later execution can go on, with `"by": "cursor"`.
struct PagingPosition: Sendable, Equatable {
    /// Of the page to request, from 1.
    var number: Int64
    var cursor: String
    /// Elements on the pages before.
    var items: Int
    var total: Int?
}
