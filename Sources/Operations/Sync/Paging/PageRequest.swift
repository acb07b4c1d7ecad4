/// One request of a list.
struct PageRequest: Sendable, Equatable {
    var url: ResourceURL
    /// From 1.
    var number: Int64
    /// The value that leads to this page, with `"by": "cursor"`.
    var cursor: String?
}
