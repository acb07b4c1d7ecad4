internal import Commands
internal import Transfers

extension SyncPayload {
    /// The values beside the lists that the pages of this sync are asked for.
    var envelopePointers: [JSONPointer] { [pages.cursor, pages.total, tokenPointer, pages.more].compactMap(\.self) }

    private var tokenPointer: JSONPointer? {
        if case .token(let pointer)? = since?.source { pointer } else { nil }
    }

    var scanPlan: ScanPlan {
        ScanPlan(
            format: format, items: items, deletedItems: deletedItems, values: envelopePointers, signs: signs,
            fields: layout.fields, maxRecord: Int(maxRecord))
    }

    var layout: RecordLayout { RecordLayout(key: key, version: version, deleted: deleted, cursor: pages.lastRecord) }

    /// The pointers of ``PagingSigns``. Numbered pages end by their records, so nothing is looked for.
    func findSigns() -> [JSONPointer] {
        guard format == .json, !pages.isStated || pages.by == .link || pages.by == .cursor else { return [] }
        return PagingSigns.pointers(
            around: items, but: envelopePointers + [items] + [deletedItems].compactMap(\.self))
    }

    /// The values beside the lists of a page.
    struct PageValues: Sendable {
        var cursor = EnvelopeValue.missing
        var total = EnvelopeValue.missing
        var token = EnvelopeValue.missing
        var more = EnvelopeValue.missing
        var signs = PagingSigns()
    }

    /// - Parameter items: of the page.
    func values(of envelope: Envelope, items: Int) -> PageValues {
        var rest = envelope.values[...]
        func next(_ pointer: JSONPointer?) -> EnvelopeValue { pointer == nil ? .missing : rest.popFirst() ?? .missing }
        var values = PageValues()
        values.cursor = next(pages.cursor)
        values.total = next(pages.total)
        values.token = next(tokenPointer)
        values.more = next(pages.more)
        values.signs = PagingSigns(signs, rest, items: items)
        return values
    }
}
