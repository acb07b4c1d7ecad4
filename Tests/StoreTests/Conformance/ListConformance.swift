import Commands
import Host
import Store
import TestSupport
import Testing

@Suite(.postgreSQLServer) struct ListConformance {
    /// A store with commands in every status, of several kinds.
    private static func subject(_ kind: StoreKind) throws -> StoreUnderTest {
        let subject = try StoreUnderTest(kind)
        for round in 0..<6 {
            for status in CommandStatus.allCases where status != .blocked {
                let number = round * 10 + status.rawValue
                let payload = #"{"file": "/srv/in/clip-\#(number).mov", "to": "https://host/caf\u00e9/"}"#
                _ = try subject.make(
                    status,
                    of: .noop.with {
                        $0.destination = .test("host-\(number % 3)")
                        $0.qos = QualityOfService.allCases[number % 5]
                        $0.type = number % 2 == 0 ? "noop" : "upload"
                        $0.payload = Array(payload.utf8)
                    })
            }
        }
        return subject
    }

    private static var filters: [CommandFilter] {
        var filters = CommandStatus.allCases.map { CommandFilter(status: $0) }
        filters += QualityOfService.allCases.map { CommandFilter(qos: $0) }
        filters += [
            CommandFilter(), CommandFilter(destination: .test("host-1")), CommandFilter(destination: .test("x")),
        ]
        filters += CommandStatus.allCases.map { CommandFilter(status: $0, qos: .default, destination: .test("host-2")) }
        for type in ["noop", "upload", "sync"] {
            filters.append(CommandFilter())
            filters[filters.count - 1].type = type
            filters.append(CommandFilter(qos: .utility))
            filters[filters.count - 1].type = type
            filters.append(CommandFilter(status: .error))
            filters[filters.count - 1].type = type
        }
        for statuses: Set<CommandStatus> in [[.error, .tooManyTimes], [.new, .error], [.queued, .sent, .success]] {
            for qos in [nil, QualityOfService.default] {
                filters.append(CommandFilter(qos: qos))
                filters[filters.count - 1].statuses = statuses
            }
        }
        for reason in ["WRONG", "no such", "%", "cut"] {
            filters.append(CommandFilter())
            filters[filters.count - 1].reason = reason
        }
        for subject in ["clip-1", "/srv/in", "café", "CLIP", "host"] {
            filters.append(CommandFilter())
            filters[filters.count - 1].subject = subject
        }
        return filters
    }

    @Test(arguments: StoreKind.allCases)
    func `every filter lists the same commands as a look at each, in both directions and page by page`(
        _ kind: StoreKind
    ) throws {
        let subject = try Self.subject(kind)
        let all = try subject.store.list(CommandFilter(), after: nil, limit: 1000)
        #expect(all.count == 48 && all.map(\.id) == all.map(\.id).sorted())
        for filter in Self.filters {
            let expected = try all.filter { command in
                let names = CommandSubject(payload: try subject.store.payload(command.id) ?? [])
                let reason = command.reason?.lowercased()
                return (filter.statuses.isEmpty || filter.statuses.contains(command.status))
                    && filter.qos.map { $0 == command.qos } ?? true
                    && filter.destination.map { $0 == command.destination } ?? true
                    && filter.type.map { $0 == command.type } ?? true
                    && filter.reason.map { reason?.contains($0.lowercased()) ?? false } ?? true
                    && filter.subject.map { names?.contains($0) ?? false } ?? true
            }.map(\.id)
            for order in [CommandOrder.oldestFirst, .newestFirst] {
                for limit in [1, 5, 1000] {
                    var found: [CommandID] = []
                    var after: CommandID?
                    repeat {
                        // The time is over at once, so each page is the least that a call does.
                        let page = try subject.store.page(
                            filter, order: order, after: after, limit: limit, until: limit == 5 ? .zero : nil)
                        found += page.commands.map(\.id)
                        #expect(page.next == nil || page.next != after)
                        after = page.next
                    } while after != nil
                    #expect(found == (order == .oldestFirst ? expected : expected.reversed()), "\(filter) \(order)")
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a list is limited by the time of the last change`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let ids = try (0..<3).map { try subject.submit(now: .base + .seconds($0 * 60)) }
        for (index, id) in ids.enumerated() {
            _ = try subject.store.cancel(id, reason: "no", now: .base + .seconds(1000 - index * 100))
        }
        for statuses: Set<CommandStatus> in [[], [.cancelled], [.cancelled, .error]] {
            var filter = CommandFilter()
            filter.statuses = statuses
            filter.changedFrom = .base + .seconds(900)
            #expect(try subject.store.list(filter, after: nil, limit: 10).map(\.id) == [ids[0], ids[1]])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a list is limited by the time of the submit`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let ids = try (0..<5).map { try subject.submit(now: .base + .seconds($0 * 60)) }
        var filter = CommandFilter()
        filter.from = .base + .seconds(60)
        filter.before = .base + .seconds(180)
        #expect(try subject.store.list(filter, after: nil, limit: 10).map(\.id) == [ids[1], ids[2]])
        let newest = try subject.store.page(filter, order: .newestFirst, after: ids[4], limit: 1, until: nil)
        #expect(newest.commands.map(\.id) == [ids[2]] && newest.next == ids[2])
    }

    @Test(arguments: StoreKind.allCases)
    func `a command is found by its beginning, its end, or any other part of its id`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let ids = try (0..<200).map { try subject.submit(now: .base + .seconds($0 * 3600)) }
        for id in [ids[0], ids[99], ids[199]] {
            let text = id.description
            for part in [text, text.uppercased(), "…\(text.suffix(12))", "\(text.prefix(13))", "\(text.dropFirst(11))"]
            {
                #expect(try subject.store.id(of: try #require(CommandIDPart(part))) == id, "\(part)")
            }
            #expect(try subject.store.id(of: try #require(CommandIDPart("\(text.suffix(9))"))) == id)
            #expect(try subject.store.id(of: try #require(CommandIDPart("\(text.dropFirst(14).dropLast(2))"))) == id)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a part of several ids is refused with up to five of them`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind)
        let ids = try (0..<7).map { _ in try subject.submit() }
        let part = try #require(CommandIDPart("\(ids[0].description.prefix(12))"))
        let now = Timestamp.base + .seconds(180)
        let many = #expect(throws: StoreError.self) { try subject.store.at(now) { try subject.store.id(of: part) } }
        #expect(many?.code == .ambiguous)
        #expect(many?.message.contains("a part of more than 5 ids") == true)
        #expect(many?.message.contains("(noop, 3 min old)") == true)
        let unknown = try #require(CommandIDPart("ffffffffffff"))
        #expect(throws: StoreError.self) { try subject.store.id(of: unknown) }
        do throws(StoreError) { _ = try subject.store.id(of: unknown) } catch { #expect(error.code == .notFound) }
    }

    @Test(arguments: StoreKind.allCases)
    func `commands of a shard are cancelled together`(_ kind: StoreKind) throws {
        let subject = try StoreUnderTest(kind, shardCount: 1)
        let ids = try subject.submit([.noop, .noop])
        try subject.open()
        try subject.claim(ids[1])
        let effects = try subject.store.cancel(ids + [CommandID()], shard: 0, reason: "gone", now: .base)
        #expect(effects.events.map(\.transition.id) == [ids[0]] && effects.requests.map(\.id) == [ids[1]])
        #expect(try subject.status(ids[0]) == .cancelled && subject.store.command(ids[0])?.reason == "gone")
        #expect(try subject.store.command(ids[1])?.cancelRequested == true)
        #expect(try subject.countsAreTrue())
    }
}
