internal import Commands

extension SyncPayload {
    /// The values beside the lists that the pages of this sync are asked for.
    var envelopePointers: [JSONPointer] { [pages.cursor, pages.total, tokenPointer].compactMap(\.self) }

    private var tokenPointer: JSONPointer? {
        if case .token(let pointer)? = since?.source { pointer } else { nil }
    }

    var scanPlan: ScanPlan {
        ScanPlan(
            format: format, items: items, deletedItems: deletedItems, values: envelopePointers, fields: layout.fields,
            maxRecord: Int(maxRecord))
    }

    var layout: RecordLayout { RecordLayout(key: key, version: version, deleted: deleted) }

    /// The cursor, the total and the token of a page.
    func values(of envelope: Envelope) -> (cursor: EnvelopeValue, total: EnvelopeValue, token: EnvelopeValue) {
        var rest = envelope.values[...]
        func next(_ pointer: JSONPointer?) -> EnvelopeValue { pointer == nil ? .missing : rest.popFirst() ?? .missing }
        return (next(pages.cursor), next(pages.total), next(tokenPointer))
    }
}
