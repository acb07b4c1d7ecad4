internal import Transfers

/// The parts of an answer that lead to the next page.
struct PageAnswer: Sendable {
    /// The URL that answered, after redirects; relative references start from it.
    var url: ResourceURL
    /// The values of the `Link` fields.
    var links: [String] = []
    var cursor = EnvelopeValue.missing
    var total = EnvelopeValue.missing
    /// The value at “more”.
    var more = EnvelopeValue.missing
    /// The value at “lastRecord” in the last record of the page.
    var lastRecord = EnvelopeValue.missing
    /// Members of the answer that look like those of a list of several pages.
    var signs = PagingSigns()
    /// Elements of the list, with those that were rejected.
    var items: Int
    /// The ones of ``items`` with a key that no page before had.
    var newItems: Int

    init(url: ResourceURL, items: Int, newItems: Int? = nil) {
        (self.url, self.items, self.newItems) = (url, items, newItems ?? items)
    }
}
