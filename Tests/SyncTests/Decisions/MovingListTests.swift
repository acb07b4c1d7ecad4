import Commands
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Sync
@testable import Transfers

/// Lists that change while their pages are read: a row that lives is never deleted, and a row that is gone is, by the
/// second sync of a list that stands still.
@Suite struct MovingListTests {
    /// A collection without a database, which carries out the decisions as the real one must.
    private struct Collection {
        let rule: PagingRule
        let url: ResourceURL
        private(set) var rows: Set<Int> = []
        private var missing: [Int: Int] = [:]
        private var last: ReadPrint?

        init(_ rule: PagingRule, _ url: ResourceURL) {
            (self.rule, self.url) = (rule, url)
        }

        private struct Read {
            var paging: Paging
            var first: PageRequest
            var print = ReadPrint()
            var pages: Int64 = 0
            var keys: Set<Int> = []
            var duplicates = 0
            var end = PagingEnd.complete
        }

        /// - Returns: the keys that were deleted.
        mutating func sync(_ ask: (ResourceURL) -> MovingList.Page) throws -> Set<Int> {
            var firstPrint: ReadPrint?
            while true {
                let read = try read(ask)
                var firstPage = ReadFacts.FirstPage.unknown
                deciding: while true {
                    switch MissingRows(facts(read, firstPrint, firstPage), collection: "rows") {
                    case .checkFirstPage:
                        firstPage = Self.print(ask(read.first.url)) == read.print.first ? .same : .changed
                    case .readAgain:
                        firstPrint = read.print
                        break deciding
                    case .retain:
                        merge(read)
                        return []
                    case .wait:
                        note(read)
                        merge(read)
                        return []
                    case .delete(let proof):
                        note(read)
                        let gone = rows.subtracting(read.keys)
                            .filter { proof.reads == 1 || missing[$0, default: 0] >= proof.reads }
                        merge(read)
                        rows.subtract(gone)
                        return gone
                    case .refuse(let failure): throw failure
                    }
                }
            }
        }

        private func read(_ ask: (ResourceURL) -> MovingList.Page) throws -> Read {
            let paging = try Paging(rule, url)
            var read = Read(paging: paging, first: paging.request)
            while true {
                let page = ask(read.paging.request.url)
                read.print.add(Self.print(page))
                read.pages += 1
                let new = Set(page.keys).subtracting(read.keys)
                read.duplicates += page.keys.count - new.count
                read.keys.formUnion(new)
                var answer = PageAnswer(url: read.paging.request.url, items: page.keys.count, newItems: new.count)
                if rule.cursor != nil { answer.cursor = page.cursor.map { .number("\($0)") } ?? .null }
                if rule.total != nil { answer.total = .number("\(page.total)") }
                switch read.paging.next(after: answer) {
                case .page: continue
                case .end(let end):
                    read.end = end
                    return read
                case .failure(let failure): throw failure
                }
            }
        }

        private static func print(_ page: MovingList.Page) -> ReadPrint.Page {
            var print = ReadPrint.Page()
            for key in page.keys { print.add("\(key)") }
            return print
        }

        private func facts(_ read: Read, _ first: ReadPrint?, _ firstPage: ReadFacts.FirstPage) -> ReadFacts {
            let gone = rows.subtracting(read.keys)
            var facts = ReadFacts(
                mode: .replace, read: .full, end: read.end, paging: rule.by, listed: read.keys.count, rows: rows.count,
                missing: gone.count)
            (facts.duplicates, facts.pages) = (read.duplicates, read.pages)
            (facts.firstPage, facts.isSecondRead, facts.isSameAsFirst) = (firstPage, first != nil, first == read.print)
            facts.isSameAsLast = last?.text == read.print.text
            facts.missingBefore = gone.count { missing[$0, default: 0] >= 1 }
            facts.missingOften = gone.count { missing[$0, default: 0] >= ReadProof.maxReads - 1 }
            facts.maxDelete = .count(.max)
            return facts
        }

        private mutating func note(_ read: Read) {
            last = read.print
            for key in rows.subtracting(read.keys) { missing[key, default: 0] += 1 }
        }

        private mutating func merge(_ read: Read) {
            rows.formUnion(read.keys)
            for key in read.keys { missing[key] = nil }
        }
    }

    private static func rule(_ paging: MovingList.Paging, hasTotal: Bool) throws -> PagingRule {
        var members: [JSONValue.Member] = [.init("by", .string(paging.rawValue))]
        if paging == .cursor { members += [.init("cursor", "/next"), .init("parameter", "after")] }
        if hasTotal { members.append(.init("total", "/n")) }
        return try PagingRule(.object(members))
    }

    private static func query(_ url: ResourceURL) -> [String: String] {
        let fields = url.query.dropFirst().split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        return Dictionary(fields.map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") }) { $1 }
    }

    @Test func `500 histories of lists that move delete no row that lives, and then every row that is gone`() throws {
        var random = SeededRandom.announced("lists that move")
        var deletions = 0
        for history in 0..<500 {
            let paging = MovingList.Paging.allCases[history % 3]
            let rule = try Self.rule(paging, hasTotal: random.chance(0.5))
            var collection = Collection(rule, try ResourceURL("https://h.example/rows"))
            var list = MovingList(rows: 100)
            func sync() throws -> Set<Int> {
                let before = list.keys
                let gone = try collection.sync { url in list.page(Self.query(url), &random) }
                let living = gone.intersection(list.keys)
                #expect(living.isEmpty, "history \(history), \(paging): \(living) deleted of \(before.count)")
                return gone
            }
            _ = try sync()
            #expect(collection.rows == list.keys)
            list.isStill = false
            for _ in 0..<3 { deletions += try sync().count }
            list.isStill = true
            for _ in 0..<2 { deletions += try sync().count }
            #expect(collection.rows == list.keys, "history \(history), \(paging)")
        }
        #expect(deletions > 500)
    }

    @Test(arguments: MovingList.Paging.allCases) func `the same over HTTP`(_ paging: MovingList.Paging) async throws {
        let state = Mutex(
            (list: MovingList(rows: 100), random: SeededRandom.announced("lists that move over HTTP, \(paging)")))
        let pages = try Self.rule(paging, hasTotal: paging == .offset).json.text
        let members =
            "\"items\":\"/d\",\"mode\":\"replace\",\"maxDelete\":\"100%\",\"columns\":{},\"pages\":\(pages)"
        try await SyncHarness.with { request in
            let page = state.withLock { $0.list.page(request.query, &$0.random) }
            let next = page.cursor.map { "\($0)" } ?? "null"
            return .json("{\"d\":\(list(page.keys)),\"next\":\(next),\"n\":\(page.total)}")
        } _: { harness in
            func living() -> Set<String> { state.withLock { Set($0.list.keys.map { "n:\($0)" }) } }
            for round in 0..<2 {
                state.withLock { $0.list.isStill = true }
                for _ in 0..<2 { #expect(try await harness.sync(members).failure == nil) }
                #expect(try harness.keys() == living(), "round \(round)")
                state.withLock { $0.list.isStill = false }
                for _ in 0..<3 {
                    let before = try harness.keys()
                    let outcome = try await harness.sync(members)
                    #expect(outcome.failure == nil, "\(outcome)")
                    #expect(before.subtracting(try harness.keys()).isDisjoint(with: living()), "\(outcome)")
                }
            }
        }
    }
}
