/// The parts of an answer that lead to the next page.
struct PageAnswer: Sendable {
    /// The URL that answered, after redirects; relative references start from it.
    var url: ResourceURL
    /// The values of the `Link` fields.
    var links: [String] = []
    var cursor = EnvelopeValue.missing
    var total = EnvelopeValue.missing
    /// Elements of the list, with those that were rejected.
    var items: Int
}
