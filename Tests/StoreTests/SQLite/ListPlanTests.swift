import Commands
import Host
import Store
import Testing

@Suite struct ListPlanTests {
    private static var single: [(String, CommandFilter)] {
        func filter(_ change: (inout CommandFilter) -> Void) -> CommandFilter {
            var filter = CommandFilter()
            change(&filter)
            return filter
        }
        return CommandStatus.allCases.map { ("status \($0)", CommandFilter(status: $0)) }
            + QualityOfService.allCases.map { ("qos \($0)", CommandFilter(qos: $0)) }
            + [
                ("none", CommandFilter()), ("destination", CommandFilter(destination: .test("a"))),
                ("type", filter { $0.type = "noop" }), ("reason", filter { $0.reason = "x" }),
                ("from", filter { $0.from = .base }), ("before", filter { $0.before = .now }),
                ("subject", filter { $0.subject = "x" }),
            ]
    }

    private static func store(_ temporary: TemporaryStore) throws -> SQLiteStore {
        let store = try temporary.store(shards: 1)
        let ids = try store.submitNoops(50)
        for id in ids.prefix(20) { _ = try store.cancel(id, reason: "no") }
        for (id, qos) in zip(ids.dropFirst(20), QualityOfService.allCases) {
            _ = try store.requalify(id, qos: qos)
        }
        return store
    }

    /// The partial indexes of the queue, which a list reads as a whole where they are small.
    private static let queue = ["command_ready", "command_held_back", "command_limited", "command_in_flight"]

    @Test func `no filter alone scans the table, and only the indexes of the queue are sorted`() throws {
        let temporary = try TemporaryStore()
        let store = try Self.store(temporary)
        for (name, filter) in Self.single {
            for order in [CommandOrder.oldestFirst, .newestFirst] {
                for line in try store.explainList(filter, order: order).joined() {
                    let scansTable =
                        line.hasPrefix("SCAN command") || line.hasPrefix("SCAN c") || line.hasPrefix("SCAN p")
                    let isOfQueueIndex = Self.queue.contains { line.hasSuffix("INDEX \($0)") }
                    #expect(!scansTable || isOfQueueIndex, "\(name): \(line)")
                    let isOfQueue = [CommandStatus.new, .queued, .sent].contains { $0 == filter.status }
                    if line.contains("TEMP B-TREE FOR ORDER BY"), !isOfQueue, filter.reason == nil {
                        Issue.record("\(name): \(line)")
                    }
                }
            }
        }
    }

    @Test(arguments: [
        ("command_by_status", CommandFilter(status: .cancelled)),
        ("sqlite_autoindex_command_1", CommandFilter(qos: .utility)),
        ("command_ready", CommandFilter(status: .new)),
    ])
    func `each filter uses its index`(_ index: String, _ filter: CommandFilter) throws {
        let temporary = try TemporaryStore()
        let lines = try Self.store(temporary).explainList(filter, order: .newestFirst).joined()
        #expect(lines.contains { $0.contains("INDEX \(index)") }, "\(Array(lines))")
    }

    @Test func `a status without commands is answered from the counts`() throws {
        let temporary = try TemporaryStore()
        let store = try Self.store(temporary)
        #expect(try store.explainList(CommandFilter(status: .success), order: .oldestFirst) == [[]])
        #expect(try store.explainList(CommandFilter(status: .cancelled, qos: .background), order: .oldestFirst) == [[]])
    }

    @Test func `a search that is out of time says how far it has looked, and goes on from there`() throws {
        let temporary = try TemporaryStore()
        let store = try temporary.store(shards: 2)
        let first = try store.submitNoops(1)[0]
        _ = try store.submitNoops(3000)
        var filter = CommandFilter()
        filter.reason = "wanted"
        _ = try store.cancel(first, reason: "not Wanted")
        var pages = 0
        var found: [CommandID] = []
        var after: CommandID?
        filter.status = .cancelled
        filter.qos = .default
        repeat {
            let page = try store.page(filter, order: .newestFirst, after: after, limit: 10, until: .zero)
            found += page.commands.map(\.id)
            pages += 1
            after = page.next
        } while after != nil
        #expect(found == [first])
        filter = CommandFilter()
        filter.subject = "nowhere"
        let page = try store.page(filter, order: .newestFirst, after: nil, limit: 10, until: .zero)
        #expect(page.commands.isEmpty && page.scanned == 256)
        #expect(try #require(page.next) < CommandID(high: .max, low: 0))
    }
}
