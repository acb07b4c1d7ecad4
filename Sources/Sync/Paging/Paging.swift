internal import Commands
internal import Transfers

/// Decides which page of a list is requested next. Pure.
///
/// | by | next page | end |
/// |---|---|---|
/// | none | – | at once; partial where a `Link` or a ``PagingSigns`` names more, unless `by` is stated |
/// | link | `Link` with `rel=next`, or the URL at the pointer `cursor` | no link, `results="false"`; null, false, empty |
/// | cursor | the value at `cursor` as `parameter` | null, false or empty |
/// | cursor | the value at `lastRecord` in the last record | no records |
/// | page, offset | the next number; the number of items | no items; total reached, page not full; 404 |
///
/// * The value false at `more` is the end, whatever else the page says.
/// * A page without items but with a next one is not the end; three such pages in a row, or pages whose keys were
///   all on earlier pages, are.
/// * An end that the page does not prove is partial: a cursor that is missing, a total larger than the number of
///   items, true at `more`, pages without a new record.
/// * The URL of a page must be new in this sync, because a loop of any length would never end. It must have the
///   origin of the first page, or gets it with `nextOrigin` same.
/// * A next page that cannot be read is a failure, never the end.
struct Paging: Sendable {
    private let rule: PagingRule
    /// The URL of the payload, with the parameters of `since` and of the page's size.
    private let base: ResourceURL
    private var current: PageRequest
    /// Hashes of the URLs that were requested. 10,000 URLs themselves could have 80 MB.
    private var seen: Set<UInt64> = []
    private var items = 0
    private(set) var total: Int?
    /// The total was another on an earlier page: records have moved from page to page, maybe past the read.
    private var hasMoved = false
    /// The ones of ``items`` that an earlier page had.
    private var repeated = 0
    /// Pages in a row without a new record.
    private var idlePages = 0
    /// Pages without a new record that end a list whose pages name each other.
    private static let maxIdlePages = 3
    /// The most items of a page.
    private var fullPage: Int

    /// Starts with the first page.
    /// - Parameter url: of the payload, with the parameter of `since`.
    /// - Throws: ``CommandFailure`` where the URL would be too long.
    init(_ rule: PagingRule, _ url: ResourceURL) throws(CommandFailure) {
        self.rule = rule
        if let size = rule.size {
            base = try Self.set(size.parameter, to: "\(size.count)", in: url)
        } else {
            base = url
        }
        fullPage = rule.size.map { Int($0.count) } ?? 0
        current = PageRequest(url: base, number: 1)
        if rule.by.isByPosition { current.url = try Self.set(rule.parameter, to: "\(rule.start)", in: base) }
        note(current.url)
    }

    /// Goes on with the page of a checkpoint, with `"by": "cursor"`.
    init(_ rule: PagingRule, _ url: ResourceURL, from position: PagingPosition) throws(CommandFailure) {
        try self.init(rule, url)
        items = position.items
        total = position.total
        current = PageRequest(
            url: try Self.set(rule.parameter, to: position.cursor, in: base), number: position.number,
            cursor: position.cursor)
        note(current.url)
    }

    /// The page to request now.
    var request: PageRequest { current }

    /// Where a later execution goes on; nil where it begins again.
    var position: PagingPosition? {
        current.cursor.map { PagingPosition(number: current.number, cursor: $0, items: items, total: total) }
    }

    /// Moves on after the answer to ``request``.
    mutating func next(after answer: PageAnswer) -> PagingStep {
        items += answer.items
        repeated += answer.items - answer.newItems
        let known = total
        total = Self.count(answer.total) ?? total
        if let known, let total, known != total { hasMoved = true }
        idlePages = answer.newItems > 0 ? 0 : idlePages + 1
        if isMore(answer) == false { return .end(completeness) }
        do throws(CommandFailure) {
            switch rule.by {
            case .none: return single(answer)
            case .link: return try follow(answer)
            case .cursor: return try go(toCursorOf: answer)
            case .page: return try go(toPosition: rule.start + current.number, answer)
            case .offset: return try go(toPosition: rule.start + Int64(items), answer)
            }
        } catch {
            return .failure(error)
        }
    }

    /// Whether a 404 to ``request`` is the end of the list, because the total is reached.
    var endsWhereNotFound: Bool {
        guard rule.by.isByPosition, current.number > 1, let total else { return false }
        return items >= total
    }

    // MARK: Kinds

    private func single(_ answer: PageAnswer) -> PagingStep {
        guard LinkHeader(answer.links).next == .none else {
            return .end(.partial(because: "the answer has a Link to a next page, which --pages link reads"))
        }
        if !rule.isStated, let rest = answer.signs.rest {
            return .end(.partial(because: "\(rest); or --pages none if this is the whole list"))
        }
        return .end(completeness)
    }

    private mutating func follow(_ answer: PageAnswer) throws(CommandFailure) -> PagingStep {
        var next: String?
        if rule.cursor == nil {
            switch LinkHeader(answer.links).next {
            case .none: break
            case .reference(let reference): next = reference
            case .unreadable(let part): throw unreadable("the Link “\(LocationField.shown(part))” is malformed")
            }
        } else {
            next = try value(answer.cursor, of: "the URL of the next page")
        }
        guard let reference = next else { return end(after: answer) }
        guard var url = answer.url.page(reference) else {
            throw unreadable("“\(LocationField.shown(reference))” is not a URL")
        }
        if rule.nextOrigin == .same, let here = url.moved(to: base) { url = here }
        guard url.destination == base.destination else {
            throw final(
                "names a next page at another origin, \(url.destination), which is not requested, because the "
                    + "credentials are for \(base.destination); submit a “url” at the origin of the pages, or "
                    + "“nextOrigin” same if that is the name behind a proxy")
        }
        return try go(to: PageRequest(url: url, number: current.number + 1), after: answer)
    }

    private mutating func go(toCursorOf answer: PageAnswer) throws(CommandFailure) -> PagingStep {
        var next = answer.cursor
        if let pointer = rule.lastRecord {
            // Behind the last record is nothing.
            guard answer.items > 0 else { return end(after: answer) }
            next = answer.lastRecord
            switch next {
            case .text, .number: break
            default: throw unreadable("\(pointer) of its last record is \(next.kind)")
            }
        }
        guard let cursor = try value(next, of: "the cursor") else { return end(after: answer) }
        let url = try Self.set(rule.parameter, to: cursor, in: base)
        return try go(to: PageRequest(url: url, number: current.number + 1, cursor: cursor), after: answer)
    }

    private mutating func go(toPosition position: Int64, _ answer: PageAnswer) throws(CommandFailure) -> PagingStep {
        guard answer.items > 0 else { return end(after: answer) }
        let isFull = current.number == 1 && rule.size == nil ? false : answer.items >= fullPage
        fullPage = max(fullPage, answer.items)
        if let total, items >= total, !isFull, isMore(answer) != true { return .end(completeness) }
        guard answer.newItems > 0 else { return .end(withoutNews("“\(rule.parameter ?? "")” may have another name")) }
        let url = try Self.set(rule.parameter, to: "\(position)", in: base)
        return try go(to: PageRequest(url: url, number: current.number + 1), after: answer)
    }

    private mutating func go(
        to request: PageRequest, after answer: PageAnswer
    ) throws(CommandFailure) -> PagingStep {
        let flag = answer.signs.flag.map { "\($0) may say where they end: --more \($0.text)" } ?? "see --more"
        guard idlePages < Self.maxIdlePages else { return .end(withoutNews(flag)) }
        guard note(request.url) else {
            guard answer.newItems > 0 else { return .end(withoutNews(flag)) }
            throw charged("leads back to a page of this sync, \(request.url.displayText), so the pages have no end")
        }
        guard request.number <= rule.maxPages else {
            throw final("is not the last of \(rule.maxPages) pages; raise “maxPages” in “pages” if the list is longer")
        }
        current = request
        return .page(request)
    }

    // MARK: Ends

    /// The end of pages that name no next one.
    private func end(after answer: PageAnswer) -> PagingStep {
        // The total proves the end, or that records are missing.
        if total != nil, isMore(answer) != true { return .end(completeness) }
        if let more = rule.more {
            let flag = answer.more == .bool(true) ? "says that more records follow" : "is \(answer.more.kind)"
            return .end(.partial(because: "\(more) \(flag) on page \(current.number), which names no next page"))
        }
        if rule.by == .link, rule.cursor == nil, current.number == 1, let rest = answer.signs.rest {
            return .end(.partial(because: "the answer has no Link to a next page, and \(rest)"))
        }
        guard let cursor = rule.cursor, answer.cursor == .missing, rule.missingCursor == .partial else {
            return .end(completeness)
        }
        let instead = answer.signs.rest.map { "; \($0)" } ?? ""
        return .end(
            .partial(
                because:
                    "\(cursor) is missing on page \(current.number)\(instead); --missing-cursor end says that this is "
                    + "how the list ends"))
    }

    /// - Parameter hint: what may be wrong.
    private func withoutNews(_ hint: String) -> PagingEnd {
        // Records that came twice do not count: they are on these very pages.
        if let total, items - repeated >= total, !hasMoved { return completeness }
        return .partial(
            because: "page \(current.number) has no record that an earlier page does not have, and names another page; "
                + hint)
    }

    /// The flag at “more”; nil where it is none.
    private func isMore(_ answer: PageAnswer) -> Bool? {
        guard rule.more != nil else { return nil }
        switch answer.more {
        case .bool(let flag): return flag
        case .number("0"), .text("false"): return false
        case .number("1"), .text("true"): return true
        case .missing, .null, .text, .number, .container, .tooLong: return nil
        }
    }

    // MARK: Values

    /// The text of a cursor; nil at the end.
    private func value(_ value: EnvelopeValue, of name: String) throws(CommandFailure) -> String? {
        switch value {
        case .missing, .null, .bool(false), .text(""): return nil
        case .text(let text), .number(let text): return text
        case .bool(true), .container, .tooLong:
            throw unreadable("\(name) at \(rule.cursor?.description ?? "") is \(value.kind)")
        }
    }

    /// The end of pages that name no next one, by their total.
    var completeness: PagingEnd {
        guard let total, items < total else { return hasMoved ? .moved : .complete }
        return .partial(because: "\(items) of \(total) records came")
    }

    static func count(_ value: EnvelopeValue) -> Int? {
        if case .text(let digits) = value { return EnvelopeValue.number(digits).count }
        return value.count
    }

    private static func set(
        _ parameter: String?, to value: String, in url: ResourceURL
    ) throws(CommandFailure) -> ResourceURL {
        guard let parameter, let changed = url.setting(parameter, to: value) else {
            throw CommandFailure(
                .final,
                reason: "a page of \(url.displayText) would have a URL of more than \(ResourceURL.maxBytes) bytes; "
                    + "submit a shorter “url”")
        }
        return changed
    }

    /// - Returns: false for a URL that was requested before.
    @discardableResult
    private mutating func note(_ url: ResourceURL) -> Bool { seen.insert(StableHash.of(url.text.utf8)).inserted }

    private func charged(_ problem: String) -> CommandFailure { failure(.command, problem) }

    private func final(_ problem: String) -> CommandFailure { failure(.final, problem) }

    private func unreadable(_ problem: String) -> CommandFailure {
        charged("may not be the last, but its next page cannot be read: \(problem)")
    }

    private func failure(_ fault: CommandFailure.Fault, _ problem: String) -> CommandFailure {
        var failure = CommandFailure(fault, reason: "page \(current.number) of \(base.displayText) \(problem)")
        failure.isAnswer = true
        return failure
    }
}

/// The decision after an answer to a page.
enum PagingStep: Sendable, Equatable {
    case page(PageRequest)
    case end(PagingEnd)
    case failure(CommandFailure)
}

/// Whether a read of all pages is the whole list.
enum PagingEnd: Sendable, Equatable {
    case complete
    /// Every page came, and the list changed between them: the pages state different totals.
    case moved
    /// - Parameter because: a clause without a subject of its own, in the result.
    case partial(because: String)

    var isPartial: Bool {
        if case .partial = self { true } else { false }
    }
}

/// The page with which a later execution can go on, with `"by": "cursor"`.
struct PagingPosition: Sendable, Equatable {
    /// Of the page to request, from 1.
    var number: Int64
    var cursor: String
    /// Elements on the pages before.
    var items: Int
    var total: Int?
}
