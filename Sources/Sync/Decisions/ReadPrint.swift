internal import Commands

/// The order of the keys that a read lists, as a hash.
///
/// Two reads with the same print one after the other saw a list that stood still between them: when the first
/// ended, each page was as the second found it. So a row that both lack is gone (the double collect of Afek et
/// al., Atomic Snapshots of Shared Memory, Journal of the ACM 40, 1993).
struct ReadPrint: Sendable, Equatable {
    /// The order of the keys of one page.
    struct Page: Sendable, Equatable {
        fileprivate(set) var hash = StableHash.start
        /// The number of records of the whole list, as the page states it.
        var total: Int?

        /// - Parameter key: nil for an element whose key is not known.
        mutating func add(_ key: String?) {
            hash = StableHash.adding((key ?? "").utf8, to: hash)
            hash = StableHash.adding(CollectionOfOne(0), to: hash)
        }
    }

    private(set) var first: Page?
    private(set) var whole = StableHash.start

    mutating func add(_ page: Page) {
        if first == nil { first = page }
        // The end of some lists is an empty page.
        guard page.hash != StableHash.start else { return }
        withUnsafeBytes(of: page.hash.littleEndian) { whole = StableHash.adding($0, to: whole) }
    }

    /// The print in the state of a collection.
    var text: String { String(whole, radix: 16) }
}

extension ReadPrint {
    init(_ value: JSONValue?) {
        guard let texts = value?.elements, texts.count >= 2,
            let whole = texts[0].string.flatMap({ UInt64($0, radix: 16) }),
            let hash = texts[1].string.flatMap({ UInt64($0, radix: 16) })
        else { return }
        self.whole = whole
        first = Page(hash: hash, total: texts.count > 2 ? texts[2].integer.map { Int($0) } : nil)
    }

    /// The print in a checkpoint.
    var json: JSONValue {
        guard let first else { return .array([]) }
        let total = first.total.map { [JSONValue.integer(Int64($0))] } ?? []
        return .array([.string(text), .string(String(first.hash, radix: 16))] + total)
    }
}
