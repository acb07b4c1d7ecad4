internal import Commands

/// The proof that rows which a read does not list are gone. Only ``MissingRows`` makes one, and
/// ``CollectionMerge`` deletes no missing row without it.
struct ReadProof: Sendable, Equatable {
    /// Complete reads in a row that must miss a row of a list that never stands still.
    static let maxReads = 5

    /// The complete reads in a row that missed the rows, this one included. With 1 every missing row is gone.
    let reads: Int

    fileprivate init(reads: Int) { self.reads = reads }
}

/// Decides whether rows are deleted because the remote list does not have them. Pure.
///
/// A list that is empty by mistake, or was read in part, must not empty the collection. So rows are deleted
/// only with a ``ReadProof``, and many at once only where the payload permits it.
///
/// A list in one answer is a proof by itself. While a list of several pages is read, rows are inserted, deleted and
/// moved, so that a living row is on no page. One read proves nothing there; the proof is one of
/// * two reads in a row with the same ``ReadPrint``: the second is that of the next sync, or of the same command
///   where a row is missing for the second time and the list has changed since;
/// * ``ReadProof/maxReads`` reads in a row that miss the row, for a list that always changes, also while it is read.
enum MissingRows: Sendable, Equatable {
    /// Deletes them, and notes this read.
    case delete(ReadProof)
    /// Leaves them, and notes that this read misses them; the rest of the sync is applied.
    case wait(because: String)
    /// Leaves them; the rest of the sync is applied.
    /// - Parameter because: a sentence for the result; nil where the payload asks for no deletion.
    case retain(because: String?)
    /// Requests the first page once more, and decides again.
    case checkFirstPage
    /// Reads the whole list once more.
    case readAgain
    /// Ends the command; nothing is written.
    case refuse(CommandFailure)

    init(_ facts: ReadFacts, collection: String) {
        guard facts.mode == .replace, facts.read == .full else {
            self = .retain(because: nil)
            return
        }
        if let doubt = Self.doubt(facts) {
            self = Self.retained(doubt)
        } else if facts.paging.isByPosition, facts.duplicates > 0, !facts.isSecondRead {
            self = .readAgain
        } else if facts.missingOften == 0, Self.movement(facts) != nil {
            self = Self.proven(facts)
        } else if facts.listed == 0, facts.rows > 0, !facts.allowEmpty {
            self = Self.refusal(
                "the list is empty, and the collection “\(collection)” has \(facts.rows) rows; nothing was "
                    + "written; submit with “allowEmpty” if the list is really empty")
        } else if facts.listed > 0, !facts.maxDelete.permits(facts.missing, of: facts.rows) {
            self = Self.refusal(
                "\(facts.missing) of the \(facts.rows) rows of the collection “\(collection)” are missing in the list, "
                    + "more than “maxDelete” (\(facts.maxDelete.text)); nothing was written; submit with a larger "
                    + "“maxDelete” if they are really gone")
        } else {
            self = Self.proven(facts)
        }
    }

    /// The decision about a read that seems complete.
    private static func proven(_ facts: ReadFacts) -> MissingRows {
        if facts.missing == 0 || facts.pages <= 1 { return .delete(ReadProof(reads: 1)) }
        let movement = movement(facts)
        if movement == nil {
            if facts.isSameAsFirst { return .delete(ReadProof(reads: 1)) }
            if facts.firstPage == .unknown { return .checkFirstPage }
            if facts.missingBefore > 0 {
                if facts.isSameAsLast { return .delete(ReadProof(reads: 2)) }
                if !facts.isSecondRead { return .readAgain }
            }
        }
        if facts.missingOften > 0 { return .delete(ReadProof(reads: ReadProof.maxReads)) }
        let rows = facts.missing == 1 ? "1 row is" : "\(facts.missing) rows are"
        return .wait(
            because: movement.map {
                "rows that are missing in the list were not deleted: \($0); \(ReadProof.maxReads) such reads in a row "
                    + "delete a row that all of them miss"
            } ?? "\(rows) missing in the list; a list of several pages may change while it is read, so rows are "
                + "deleted when the next complete read misses them too")
    }

    /// How the list has changed during the read; nil: it shows no change. Such a read deletes nothing by itself, and
    /// counts as one that misses a row, so that a list whose first page always changes loses its dead rows too.
    private static func movement(_ facts: ReadFacts) -> String? {
        if facts.end == .moved { return totalChanged }
        if facts.paging.isByPosition, facts.duplicates > 0 {
            return "the list changed during both reads, as \(facts.duplicates) keys came twice"
        }
        return facts.firstPage == .changed ? firstPageChanged : nil
    }

    static let totalChanged = "the list changed while it was read: its pages state different totals"
    static let firstPageChanged = "the list changed while it was read: its first page is another than at the start"

    /// Why the read may not be the whole list.
    private static func doubt(_ facts: ReadFacts) -> String? {
        if case .partial(let reason) = facts.end { return reason }
        if !facts.everyPageWas200 { return "a page was not answered 200" }
        if facts.rejectsWithoutKey > 0 { return "\(facts.rejectsWithoutKey) rejected records have no known key" }
        return nil
    }

    private static func retained(_ reason: String) -> MissingRows {
        .retain(because: "rows that are missing in the list were not deleted: \(reason)")
    }

    private static func refusal(_ reason: String) -> MissingRows {
        var failure = CommandFailure(.final, reason: reason)
        failure.isAnswer = true
        return .refuse(failure)
    }
}

/// The facts of a read by which ``MissingRows`` decides.
struct ReadFacts: Sendable, Equatable {
    /// The first page, requested once more behind the last one.
    enum FirstPage: Sendable, Equatable {
        case unknown, same, changed
    }

    var mode: SyncPayload.Mode
    var read: SyncRead
    var end: PagingEnd
    /// Whether every page was answered 200.
    var everyPageWas200 = true
    /// Rejected records whose key is not known; each may be any row of the collection.
    var rejectsWithoutKey = 0
    /// Keys that occurred twice in the list.
    var duplicates = 0
    var paging: PagingRule.Kind
    var pages: Int64 = 1
    var firstPage = FirstPage.unknown
    /// Whether this is the second read of the list in one command.
    var isSecondRead = false
    /// Whether the first read of this command has the same ``ReadPrint``.
    var isSameAsFirst = false
    /// Whether the last complete read of an earlier command has the same ``ReadPrint``.
    var isSameAsLast = false
    /// Keys that the read lists, with those of rejected records.
    var listed: Int
    /// Rows of the collection that can be missing (``MergeDecision/deletesMissing(_:)``).
    var rows: Int
    /// The ones of ``rows`` that the read does not list.
    var missing: Int
    /// The ones of ``missing`` that the last complete read did not list either.
    var missingBefore = 0
    /// The ones of ``missing`` that this is complete read ``ReadProof/maxReads`` in a row not to list.
    var missingOften = 0
    var allowEmpty = false
    var maxDelete = DeleteLimit.standard
}

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
