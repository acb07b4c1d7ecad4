import Commands
import Operations
import Testing

@testable import Sync
@testable import Transfers

/// The pages of operations.md, section 5.3.
@Suite struct PagingTests {
    private static let url = "https://h.example/items?x=1"

    private func paging(_ rule: JSONValue, _ url: String = url) throws -> Paging {
        try Paging(try PagingRule(rule), try ResourceURL(url))
    }

    private func answer(
        _ paging: Paging, items: Int = 10, links: [String] = [], cursor: EnvelopeValue = .missing,
        total: EnvelopeValue = .missing, more: EnvelopeValue = .missing, last: EnvelopeValue = .missing,
        new: Int? = nil
    ) -> PageAnswer {
        var answer = PageAnswer(url: paging.request.url, items: items, newItems: new)
        (answer.links, answer.cursor, answer.total) = (links, cursor, total)
        (answer.more, answer.lastRecord) = (more, last)
        return answer
    }

    /// Why the end may not be the end; nil for another step.
    private func doubt(_ step: PagingStep) -> String? {
        if case .end(.partial(let reason)) = step { reason } else { nil }
    }

    private func next(_ step: PagingStep) -> String? {
        if case .page(let request) = step { request.url.text } else { nil }
    }

    private func refusal(_ step: PagingStep) -> CommandFailure? {
        if case .failure(let failure) = step { failure } else { nil }
    }

    // MARK: None and link

    @Test func `a list without pages is one request, and a named next page makes it partial`() throws {
        var paging = try paging(["by": "none"])
        #expect(paging.request.url.text == Self.url && paging.request.number == 1)
        #expect(paging.next(after: answer(paging)) == .end(.complete))
        guard case .end(.partial) = paging.next(after: answer(paging, links: ["</items?page=2>; rel=next"])) else {
            Issue.record("the rest of the list passes for missing")
            return
        }
    }

    @Test func `links are followed to the last page, also over empty pages`() throws {
        var paging = try paging(["by": "link"])
        let steps = ["?page=2", "https://h.example:443/items?page=3", "/other?page=4"]
        let urls = [
            "https://h.example/items?page=2", "https://h.example:443/items?page=3",
            "https://h.example:443/other?page=4",
        ]
        for (index, reference) in steps.enumerated() {
            let answer = answer(paging, items: index == 1 ? 0 : 5, links: ["<\(reference)>; rel=next"])
            #expect(next(paging.next(after: answer)) == urls[index])
            #expect(paging.request.number == Int64(index) + 2)
            #expect(paging.position == nil)
        }
        #expect(paging.next(after: answer(paging, links: ["<?page=1>; rel=first"])) == .end(.complete))
    }

    @Test func `a relative link starts from the URL that answered, after redirects`() throws {
        var paging = try paging(["by": "link"])
        var answer = answer(paging, links: ["<next?page=2>; rel=next"])
        answer.url = try ResourceURL("https://h.example/v2/items")
        #expect(next(paging.next(after: answer)) == "https://h.example/v2/next?page=2")
    }

    @Test func `the URL of the next page can be in the body`() throws {
        var paging = try paging(["by": "link", "cursor": "/links/next"])
        #expect(
            next(paging.next(after: answer(paging, cursor: .text("/items?page[number]=2"))))
                == "https://h.example/items?page%5Bnumber%5D=2")
        #expect(paging.next(after: answer(paging, cursor: .null)) == .end(.complete))
    }

    @Test(arguments: [
        "http://h.example/items?page=2", "https://h.example:8443/items?page=2", "//evil.example/",
        "https://H.example.evil/",
    ])
    func `a next page at another origin is final`(reference: String) throws {
        var paging = try paging(["by": "link"])
        let failure = try #require(refusal(paging.next(after: answer(paging, links: ["<\(reference)>; rel=next"]))))
        #expect(failure.fault == .final && failure.reason.contains("another origin") && failure.isAnswer)
    }

    @Test(arguments: [
        "<https://h.example/?p=2; rel=next", "<ftp://h/>; rel=next", "<https://>; rel=next",
        "<https://u@h.example/?secret>; rel=next",
    ])
    func `a next page that cannot be read is a failure and not the end`(link: String) throws {
        var paging = try paging(["by": "link"])
        let failure = try #require(refusal(paging.next(after: answer(paging, links: [link]))))
        #expect(
            failure.fault == .command && failure.reason.contains("cannot be read") && !failure.reason.contains("secret")
        )
    }

    @Test func `a loop of any length is charged`() throws {
        for length in 1...4 {
            var paging = try paging(["by": "link"], "https://h.example/items?page=0")
            for page in 1..<length {
                #expect(next(paging.next(after: answer(paging, links: ["<?page=\(page)>; rel=next"]))) != nil)
            }
            let failure = refusal(paging.next(after: answer(paging, links: ["<?page=0>; rel=next"])))
            #expect(failure?.fault == .command && failure?.reason.contains("leads back") == true)
        }
        var itself = try paging(["by": "link"])
        #expect(refusal(itself.next(after: answer(itself, links: ["<>; rel=next"])))?.fault == .command)
    }

    // MARK: Cursor

    static let cursors: [(EnvelopeValue, String?)] = [
        (.text("a/b+c="), "https://h.example/items?x=1&after=a%2Fb%2Bc%3D"),
        (.number("12345678901234567890123"), "https://h.example/items?x=1&after=12345678901234567890123"),
        (.number("0"), "https://h.example/items?x=1&after=0"), (.null, nil), (.text(""), nil),
        (.bool(false), nil),
    ]

    @Test(arguments: cursors.indices)
    func `a cursor leads to the next page, and none is the end`(index: Int) throws {
        let (cursor, url) = Self.cursors[index]
        var paging = try paging(["by": "cursor", "cursor": "/next", "parameter": "after"])
        #expect(paging.request.url.text == Self.url)
        let step = paging.next(after: answer(paging, items: 0, cursor: cursor))
        #expect(next(step) == url)
        if url == nil { #expect(step == .end(.complete)) }
    }

    static let cursorRules: [JSONValue] = [
        ["by": "cursor", "cursor": "/next", "parameter": "after"], ["by": "link", "cursor": "/next"],
    ]

    @Test(arguments: cursorRules)
    func `a cursor that is missing makes the read partial, unless the payload or the total says otherwise`(
        rule: JSONValue
    ) throws {
        var first = try paging(rule)
        #expect(doubt(first.next(after: answer(first)))?.contains("“/next” is missing on page 1") == true)
        var second = try paging(rule)
        _ = second.next(after: answer(second, cursor: .text("?p=2")))
        #expect(doubt(second.next(after: answer(second)))?.contains("--missing-cursor end") == true)
        var end = try paging(.object((rule.members ?? []) + [.init("missingCursor", "end")]))
        #expect(end.next(after: answer(end)) == .end(.complete))
        var whole = try paging(.object((rule.members ?? []) + [.init("total", "/n")]))
        #expect(whole.next(after: answer(whole, items: 3, total: .number("3"))) == .end(.complete))
        var renamed = try paging(rule)
        var page = answer(renamed)
        page.signs.rest = .next(try JSONPointer("/nextCursor"), isURL: false)
        #expect(doubt(renamed.next(after: page))?.contains("--cursor /nextCursor") == true)
    }

    @Test func `a flag at more ends the pages, whatever the cursor says`() throws {
        let rule: JSONValue = ["by": "cursor", "cursor": "/next", "parameter": "after", "more": "/has_more"]
        var paging = try paging(rule)
        #expect(next(paging.next(after: answer(paging, cursor: .text("a"), more: .bool(true)))) != nil)
        #expect(paging.next(after: answer(paging, cursor: .text("b"), more: .bool(false))) == .end(.complete))
        var without = try self.paging(rule)
        #expect(
            doubt(without.next(after: answer(without, cursor: .null, more: .bool(true))))?.contains("/has_more") == true
        )
        var missing = try self.paging(rule)
        #expect(doubt(missing.next(after: answer(missing, cursor: .null)))?.contains("is missing") == true)
        var pages = try self.paging(["by": "page", "more": "/has_more", "total": "/n"])
        #expect(next(pages.next(after: answer(pages, items: 3, total: .number("3"), more: .bool(true)))) != nil)
        #expect(pages.next(after: answer(pages, items: 3, more: .bool(false))) == .end(.complete))
    }

    @Test func `the cursor can be a value of the last record`() throws {
        let rule: JSONValue = ["by": "cursor", "lastRecord": "/id", "parameter": "starting_after"]
        var paging = try paging(rule)
        let step = paging.next(after: answer(paging, last: .text("ch_9")))
        #expect(next(step) == "https://h.example/items?x=1&starting_after=ch_9")
        #expect(paging.position?.cursor == "ch_9")
        #expect(paging.next(after: answer(paging, items: 0)) == .end(.complete))
        var missing = try self.paging(rule)
        #expect(refusal(missing.next(after: answer(missing)))?.reason.contains("“/id” of its last record") == true)
    }

    @Test func `pages without a new record end the list, and make the read partial`() throws {
        var link = try paging(["by": "link"])
        for page in 2...3 {
            #expect(next(link.next(after: answer(link, items: 0, links: ["<?page=\(page)>; rel=next"]))) != nil)
        }
        #expect(doubt(link.next(after: answer(link, items: 0, links: ["<?page=4>; rel=next"]))) != nil)
        // The same page again: the server does not read the parameter.
        var page = try paging(["by": "page"])
        _ = page.next(after: answer(page))
        #expect(doubt(page.next(after: answer(page, items: 10, new: 0)))?.contains("“page”") == true)
        // The cursor of the last page leads to it again.
        var cursor = try paging(["by": "cursor", "cursor": "/next", "parameter": "after"])
        _ = cursor.next(after: answer(cursor, cursor: .text("a")))
        #expect(doubt(cursor.next(after: answer(cursor, items: 0, cursor: .text("a")))) != nil)
    }

    @Test func `records that came twice do not count for the total`() throws {
        var paging = try paging(["by": "cursor", "cursor": "/next", "parameter": "after", "total": "/n"])
        for page in 1...3 {
            let answer = answer(paging, cursor: .text("\(page)"), total: .number("30"), new: page == 1 ? 10 : 0)
            #expect(next(paging.next(after: answer)) != nil)
        }
        #expect(doubt(paging.next(after: answer(paging, cursor: .text("4"), total: .number("30"), new: 0))) != nil)
    }

    @Test func `a first page without a Link is partial where its body leads on`() throws {
        var paging = try paging(["by": "link"])
        var first = answer(paging)
        first.signs.rest = .count(try JSONPointer("/count"), 870)
        #expect(doubt(paging.next(after: first))?.contains("“/count” is 870") == true)
    }

    @Test func `a next page without results is the end`() throws {
        var paging = try paging(["by": "link"])
        let link = "<?cursor=0:100:0>; rel=\"next\"; results=\"false\"; cursor=\"0:100:0\""
        #expect(paging.next(after: answer(paging, links: [link])) == .end(.complete))
        let more = link.replacing("false", with: "true")
        var other = try self.paging(["by": "link"])
        #expect(next(other.next(after: answer(other, links: [more]))) != nil)
    }

    @Test(arguments: ["http://internal:8080/items?page=2", "//other/items?page=2", "/items?page=2"])
    func `a next page is requested at the submitted origin where the payload says so`(reference: String) throws {
        var paging = try paging(["by": "link", "nextOrigin": "same"])
        #expect(
            next(paging.next(after: answer(paging, links: ["<\(reference)>; rel=next"])))
                == "https://h.example/items?page=2")
    }

    @Test(arguments: [EnvelopeValue.bool(true), .container("an object"), .container("an array"), .tooLong])
    func `a cursor of another kind is a failure and not the end`(cursor: EnvelopeValue) throws {
        for rule: JSONValue in [
            ["by": "cursor", "cursor": "/next", "parameter": "after"], ["by": "link", "cursor": "/next"],
        ] {
            var paging = try paging(rule)
            let failure = try #require(refusal(paging.next(after: answer(paging, cursor: cursor))))
            #expect(failure.fault == .command && failure.reason.contains("“/next”"))
        }
    }

    @Test func `a cursor that came before is charged`() throws {
        var paging = try paging(["by": "cursor", "cursor": "/next", "parameter": "after"])
        for cursor in ["a", "b"] { #expect(next(paging.next(after: answer(paging, cursor: .text(cursor)))) != nil) }
        #expect(refusal(paging.next(after: answer(paging, cursor: .text("a"))))?.fault == .command)
    }

    @Test func `a read goes on at its cursor with its counts`() throws {
        let rule: JSONValue = ["by": "cursor", "cursor": "/next", "parameter": "after", "total": "/total"]
        var first = try paging(rule)
        _ = first.next(after: answer(first, items: 10, cursor: .text("a"), total: .number("25")))
        _ = first.next(after: answer(first, items: 10, cursor: .text("b")))
        let position = try #require(first.position)
        #expect(position == PagingPosition(number: 3, cursor: "b", items: 20, total: 25))
        var second = try Paging(try PagingRule(rule), try ResourceURL(Self.url), from: position)
        #expect(second.request == first.request && second.position == position)
        #expect(refusal(second.next(after: answer(second, cursor: .text("b"))))?.fault == .command)
        #expect(second.next(after: answer(second, items: 0)) == .end(.complete))
        var short = try Paging(try PagingRule(rule), try ResourceURL(Self.url), from: position)
        #expect(short.next(after: answer(short, items: 4)) == .end(.partial(because: "24 of 25 records came")))
    }

    // MARK: Page and offset

    @Test func `pages are numbered from their start, up to one without items`() throws {
        var paging = try paging(["by": "page", "parameter": "p", "sizeParameter": "limit", "size": 10, "start": 0])
        #expect(paging.request.url.text == "https://h.example/items?x=1&limit=10&p=0")
        // A server may give fewer than it was asked for.
        for page in 1...3 {
            #expect(
                next(paging.next(after: answer(paging, items: 4))) == "https://h.example/items?x=1&limit=10&p=\(page)")
        }
        #expect(paging.next(after: answer(paging, items: 0)) == .end(.complete))
    }

    @Test func `an offset counts the items that came`() throws {
        var paging = try paging(
            ["by": "offset", "sizeParameter": "limit", "size": 100], "https://h.example/items?offset=9")
        #expect(paging.request.url.text == "https://h.example/items?offset=0&limit=100")
        #expect(next(paging.next(after: answer(paging, items: 50))) == "https://h.example/items?offset=50&limit=100")
        #expect(next(paging.next(after: answer(paging, items: 7))) == "https://h.example/items?offset=57&limit=100")
        #expect(paging.next(after: answer(paging, items: 0)) == .end(.complete))
    }

    @Test func `the total ends the pages, but for a full last page`() throws {
        let rule: JSONValue = ["by": "page", "sizeParameter": "n", "size": 10, "total": "/total"]
        var short = try paging(rule)
        #expect(next(short.next(after: answer(short, items: 10, total: .number("15")))) != nil)
        #expect(short.next(after: answer(short, items: 5, total: .number("15"))) == .end(.complete))
        // A server that caps its total would hide the rest of the list.
        var full = try paging(rule)
        #expect(next(full.next(after: answer(full, items: 10, total: .text("20")))) != nil)
        #expect(next(full.next(after: answer(full, items: 10, total: .text("20")))) != nil)
        #expect(full.endsWhereNotFound)
        #expect(full.next(after: answer(full, items: 0)) == .end(.complete))
        var single = try paging(["by": "page", "total": "/total"])
        #expect(single.next(after: answer(single, items: 3, total: .number("3"))) == .end(.complete))
    }

    @Test func `404 is the end only behind the first page and with the total reached`() throws {
        var paging = try paging(["by": "offset", "total": "/total"])
        #expect(!paging.endsWhereNotFound)
        _ = paging.next(after: answer(paging, items: 10, total: .number("20")))
        #expect(!paging.endsWhereNotFound)
        _ = paging.next(after: answer(paging, items: 10, total: .number("20")))
        #expect(paging.endsWhereNotFound)
        var unknown = try self.paging(["by": "page"])
        _ = unknown.next(after: answer(unknown))
        #expect(!unknown.endsWhereNotFound)
        var cursor = try self.paging(["by": "cursor", "cursor": "/next", "parameter": "after", "total": "/total"])
        _ = cursor.next(after: answer(cursor, items: 10, cursor: .text("a"), total: .number("10")))
        #expect(!cursor.endsWhereNotFound)
    }

    @Test(arguments: [
        EnvelopeValue.missing, .null, .text("many"), .number("-1"), .number("1e3"), .container("an object"),
    ])
    func `a total that is not a count is not used`(total: EnvelopeValue) throws {
        var paging = try paging(["by": "page", "total": "/total"])
        #expect(next(paging.next(after: answer(paging, items: 3, total: total))) != nil)
        #expect(paging.next(after: answer(paging, items: 0, total: total)) == .end(.complete))
    }

    @Test func `fewer items than the total make the read partial`() throws {
        var paging = try paging(["by": "page", "total": "/total"])
        _ = paging.next(after: answer(paging, items: 3, total: .number("9")))
        #expect(
            paging.next(after: answer(paging, items: 0, total: .number("9")))
                == .end(.partial(because: "3 of 9 records came")))
    }

    // MARK: Limits

    @Test func `more pages than maxPages are final and name the flag`() throws {
        var paging = try paging(["by": "page", "maxPages": 3])
        for _ in 0..<2 { #expect(next(paging.next(after: answer(paging))) != nil) }
        let failure = try #require(refusal(paging.next(after: answer(paging))))
        #expect(failure.fault == .final && failure.reason.contains("“maxPages”"))
    }

    @Test func `10,000 pages are requested once each`() throws {
        var paging = try paging(["by": "page"])
        var urls: Set<String> = [paging.request.url.text]
        for _ in 1..<10_000 { urls.insert(try #require(next(paging.next(after: answer(paging))))) }
        #expect(urls.count == 10_000)
        #expect(refusal(paging.next(after: answer(paging)))?.fault == .final)
    }

    @Test func `a cursor that makes the URL too long is final`() throws {
        var paging = try paging(["by": "cursor", "cursor": "/next", "parameter": "after"])
        #expect(
            refusal(paging.next(after: answer(paging, cursor: .text(String(repeating: "ü", count: 3000)))))?.fault
                == .final)
    }

    // MARK: The rule in the payload

    static let refused: [(JSONValue, String)] = [
        ([], "must be an object, not an array"), (["by": "scroll"], "“by” is “scroll”"),
        (["by": 1], "must be a string"),
        (["by": "link", "parameter": "p"], "“parameter” in “pages” is not valid"), (["by": "cursor"], "needs “cursor”"),
        (["by": "cursor", "cursor": "/n"], "needs “cursor”"),
        (["by": "cursor", "cursor": "n", "parameter": "p"], "is not a JSON Pointer"),
        (["by": "page", "cursor": "/n"], "“cursor” in “pages” is not valid"),
        (["by": "none", "total": "/n"], "“total” in “pages” is not valid"),
        (["by": "none", "size": 1, "sizeParameter": "n"], "“sizeParameter” in “pages” is not valid"),
        (["by": "page", "lastRecord": "/id"], "“lastRecord” in “pages” is not valid"),
        (["by": "cursor", "lastRecord": "/id", "cursor": "/n", "parameter": "p"], "needs “cursor” or “lastRecord”"),
        (["by": "page", "nextOrigin": "same"], "“nextOrigin” in “pages” is not valid"),
        (["by": "link", "missingCursor": "end"], "“missingCursor” in “pages” is not valid"),
        (["by": "none", "more": "/m"], "“more” in “pages” is not valid"),
        (["by": "page", "size": 10], "belong together"), (["by": "page", "sizeParameter": "n"], "belong together"),
        (["by": "page", "sizeParameter": "page", "parameter": "page", "size": 1], "must differ"),
        (["by": "page", "sizeParameter": "page", "size": 1], "must differ"),
        (["by": "page", "size": 0, "sizeParameter": "n"], "from 1 to 1000000"),
        (["by": "page", "start": -1], "from 0 to"), (["by": "link", "start": 1], "“start” in “pages” is not valid"),
        (["by": "page", "maxPages": 0], "from 1 to 1000000"),
        (["by": "page", "parameter": ""], "is a name of 1 to 256 bytes"),
        (["by": "page", "pages": 1], "unknown key “pages” in the payload of a sync (“pages”)"),
    ]

    @Test(arguments: refused.indices)
    func `a rule that contradicts itself is refused with the key`(index: Int) {
        let (rule, sentence) = Self.refused[index]
        let error = #expect(throws: PayloadError.self) { try PagingRule(rule) }
        #expect(error?.problem == .data && error?.message.contains(sentence) == true, "\(String(describing: error))")
    }

    static let rules: [JSONValue] = [
        ["by": "none"], ["by": "link"], ["by": "link", "cursor": "/next"],
        ["by": "cursor", "cursor": "/next", "parameter": "after", "maxPages": 5],
        ["by": "link", "cursor": "/n", "more": "/m", "missingCursor": "end", "nextOrigin": "same"],
        ["by": "cursor", "lastRecord": "/id", "more": "/m", "parameter": "after"],
        ["by": "page", "parameter": "page", "sizeParameter": "n", "size": 10, "start": 1, "total": "/t"],
        ["by": "offset", "parameter": "offset", "start": 0],
    ]

    @Test(arguments: rules.indices)
    func `a rule is written as it was read`(index: Int) throws {
        #expect(try PagingRule(Self.rules[index]).json == Self.rules[index])
    }
}
