internal import Commands

/// Decides which page of a list is requested next. Pure.
///
/// | by | next page | end |
/// |---|---|---|
/// | none | – | at once; partial where a `Link` names a next page |
/// | link | `Link` with `rel=next`, or the URL at the pointer `cursor` | no link |
/// | cursor | the value at `cursor` as `parameter` | missing, null, false or empty |
/// | page, offset | the next number; the number of items | no items; total reached, page not full; 404 |
///
/// A page without items but with a next one is not the end. A total larger than the number of items makes
/// the end partial. The URL of a page must be new in this sync, because a loop of any length would never end,
/// and must have the origin of the first page. A next page that cannot be read is a failure, never the end.
struct Paging: Sendable {
    private let rule: PagingRule
    /// The URL of the payload, with the parameters of `since` and of the page's size.
    private let base: ResourceURL
    private var current: PageRequest
    /// Hashes of the URLs that were requested. 10,000 URLs themselves could have 80 MB.
    private var seen: Set<UInt64> = []
    private var items = 0
    private var total: Int?
    /// The total was another on an earlier page: records have moved from page to page, maybe past the read.
    private var hasMoved = false
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
        let known = total
        total = Self.count(answer.total) ?? total
        if rule.by.isByPosition, let known, let total, known != total { hasMoved = true }
        do throws(CommandFailure) {
            switch rule.by {
            case .none: return end(after: answer)
            case .link: return try follow(try reference(answer), answer)
            case .cursor: return try go(toCursor: answer.cursor)
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

    private func end(after answer: PageAnswer) -> PagingStep {
        guard LinkHeader(answer.links).next == .none else {
            return .end(.partial(because: "the answer names a next page, and “pages” has no “by”"))
        }
        return .end(completeness)
    }

    /// - Returns: nil at the end.
    private func reference(_ answer: PageAnswer) throws(CommandFailure) -> String? {
        if rule.cursor != nil { return try value(answer.cursor, of: "the URL of the next page") }
        switch LinkHeader(answer.links).next {
        case .none: return nil
        case .reference(let reference): return reference
        case .unreadable(let part): throw unreadable("the Link “\(LocationField.shown(part))” is malformed")
        }
    }

    private mutating func follow(_ reference: String?, _ answer: PageAnswer) throws(CommandFailure) -> PagingStep {
        guard let reference else { return .end(completeness) }
        guard let url = answer.url.page(reference) else {
            throw unreadable("“\(LocationField.shown(reference))” is not a URL")
        }
        guard url.destination == base.destination else {
            throw final(
                "names a next page at another origin, \(url.destination), which is not requested, because the "
                    + "credentials are for \(base.destination); submit a “url” at the origin of the pages")
        }
        return try go(to: PageRequest(url: url, number: current.number + 1))
    }

    private mutating func go(toCursor value: EnvelopeValue) throws(CommandFailure) -> PagingStep {
        guard let cursor = try self.value(value, of: "the cursor") else { return .end(completeness) }
        let url = try Self.set(rule.parameter, to: cursor, in: base)
        return try go(to: PageRequest(url: url, number: current.number + 1, cursor: cursor))
    }

    private mutating func go(toPosition position: Int64, _ answer: PageAnswer) throws(CommandFailure) -> PagingStep {
        guard answer.items > 0 else { return .end(completeness) }
        let isFull = current.number == 1 && rule.size == nil ? false : answer.items >= fullPage
        fullPage = max(fullPage, answer.items)
        if let total, items >= total, !isFull { return .end(completeness) }
        let url = try Self.set(rule.parameter, to: "\(position)", in: base)
        return try go(to: PageRequest(url: url, number: current.number + 1))
    }

    private mutating func go(to request: PageRequest) throws(CommandFailure) -> PagingStep {
        guard note(request.url) else {
            throw charged("leads back to a page of this sync, \(request.url.displayText), so the pages have no end")
        }
        guard request.number <= rule.maxPages else {
            throw final("is not the last of \(rule.maxPages) pages; raise “maxPages” in “pages” if the list is longer")
        }
        current = request
        return .page(request)
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

    private var completeness: PagingEnd {
        if hasMoved { return .partial(because: "the list changed while its pages were read") }
        guard let total, items < total else { return .complete }
        return .partial(because: "\(items) of \(total) records came")
    }

    private static func count(_ value: EnvelopeValue) -> Int? {
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
