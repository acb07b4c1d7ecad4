import Commands
import Dispatch
import Glibc
import Host
import Synchronization
import TestSupport
import Testing

@testable import Store

/// Moving commands out of the inbox.
@Suite(.enabled(if: isAvailable(PostgreSQLServer.isInstalled)), .postgreSQLServer)
struct PostgreSQLInboxTests {
    @Test func `an entry becomes a command of its id, which is ready`() async throws {
        try await InboxRig.run { rig in
            let ids = [try rig.submit("'noop', '{\"a\": 1}'"), try rig.submit("'noop'")]
            #expect(try rig.store.command(ids[0]) == nil && rig.store.isInInbox(ids[0]))
            let round = try rig.move()
            #expect(Set(round.ids) == Set(ids) && Set(round.ready.map(\.id)) == Set(ids) && round.refused.isEmpty)
            #expect(try rig.store.payload(ids[0]) == Array(#"{"a": 1}"#.utf8))
            for id in ids { #expect(try rig.store.timeline(id).map(\.status) == [.new]) }
            #expect(try rig.inboxCount() == 0 && !rig.store.isInInbox(ids[0]))
            #expect(try rig.move().ids.isEmpty)
            try rig.check()
        }
    }

    @Test func `doctor warns of commands that no coordinator takes in`() async throws {
        try await InboxRig.run { rig in
            func finding() throws -> ServerFinding? { try rig.store.serverFindings().first { $0.check == "inbox" } }
            #expect(try finding() == ServerFinding("inbox", .ok, "no command waits in it"))
            _ = try rig.submit("'noop'")
            #expect(try finding()?.state == .ok)
            let old = CommandID(now: rig.store.clock.now() + .seconds(-60))
            var connection = try rig.connect()
            try connection.run("UPDATE \(rig.schema.name).inbox SET id = '\(old)'")
            let found = try #require(try finding())
            #expect(found.state == .warning && found.sentence.contains("1 command of programs waits"), "\(found)")
            try rig.move()
            #expect(try finding()?.sentence == "no command waits in it")
        }
    }

    @Test func `transactions of any length lose nothing and double nothing beside two coordinators`() async throws {
        try await InboxRig.run { rig in
            let submitted = Mutex<[CommandID]>([])
            let isOver = Mutex(false)
            let moved = Mutex<[CommandID]>([])
            DispatchQueue.concurrentPerform(iterations: 10) { number in
                if number < 8 {
                    for round in 0..<6 {
                        guard var connection = try? rig.connect() else { continue }
                        _ = try? connection.run("BEGIN")
                        var ids: [CommandID] = []
                        for index in 0..<5 {
                            if let id = try? rig.submit(
                                "'noop', unique_key => '\(number) \(round) \(index)'", &connection)
                            {
                                ids.append(id)
                            }
                            // Calls of other programs and looks of the coordinators come in between.
                            usleep(UInt32((number + index) % 4) * 10_000)
                        }
                        let isLost = round % 3 == 2
                        _ = try? connection.run(isLost ? "ROLLBACK" : "COMMIT")
                        if !isLost { submitted.withLock { $0 += ids } }
                    }
                    if submitted.withLock({ $0.count }) == 8 * 4 * 5 { isOver.withLock { $0 = true } }
                } else {
                    guard let store = try? PostgreSQLStore(url: rig.schema.url, schema: rig.schema.name) else { return }
                    let other = InboxRig(schema: rig.schema, store: store)
                    while !isOver.withLock({ $0 }) {
                        guard let round = try? other.move(number == 8 ? .recent : .whole, limit: 7) else { continue }
                        moved.withLock { $0 += round.ids }
                        usleep(1000 * 1)
                    }
                }
            }
            let rest = try rig.move().ids
            let (all, found) = (submitted.withLock { $0 }, moved.withLock { $0 } + rest)
            #expect(all.count == 160 && found.count == all.count && Set(found) == Set(all))
            #expect(try rig.store.counts()[.new] == all.count)
            #expect(try rig.inboxCount() == 0)
            try rig.check()
        }
    }

    // MARK: Refusals

    @Test func `a refused command is a dead letter with the reason, and a person can retry it`() async throws {
        try await InboxRig.run { rig in
            let id = try rig.submit("'noop', '{\"file\": 1}', ordering_key => 'o', qos => 'utility'")
            let round = try rig.move { entries in
                entries.map { entry in
                    var draft = CommandDraft.noop.with {
                        $0.payload = entry.payload
                        $0.orderingKey = "o"
                        $0.keyFailure = .hold
                        $0.uniqueKey = "u"
                    }
                    draft.notBefore = .base
                    return .refused(reason: "“file” must be a string\0", draft: draft)
                }
            }
            #expect(round.ids == [id] && round.refused.map(\.id) == [id] && round.ready.isEmpty)
            let state = try rig.state(id)
            #expect(state.status == .tooManyTimes && state.reason.hasPrefix("“file” must be a string"))
            let timeline = try rig.store.timeline(id)
            #expect(timeline.map(\.status) == [.tooManyTimes] && timeline[0].reason == state.reason)
            #expect(try rig.store.payload(id) == Array(#"{"file": 1}"#.utf8))
            try rig.check()
            // Its keys are free.
            let next = try rig.submit("'noop', unique_key => 'u', ordering_key => 'o'")
            try rig.move()
            #expect(try rig.state(next).status == .new)
            _ = try rig.store.cancel(next, reason: "not wanted")
            _ = try rig.store.retry(id)
            #expect(try rig.state(id) == InboxState(status: .new, reason: ""))
            try rig.check()
        }
    }

    @Test func `commands that no submit accepts are dead letters, each with its reason`() async throws {
        try await InboxRig.run { rig in
            let parent = CommandID(now: .now)
            let cases = [
                (try rig.submit("'no.such.type'"), "No worker runs “no.such.type”"),
                (try rig.submit("'noop', rate_limit => 'slow'"), "There is no rate limit “slow”"),
                (try rig.submit("'noop', batch => '\(parent)'"), "batch"),
                (try rig.submit("'noop', after => ARRAY['\(parent)']"), "\(parent)"),
            ]
            let accepted = try rig.submit("'noop'")
            let round = try rig.move()
            #expect(Set(round.refused.map(\.id)) == Set(cases.map(\.0)) && round.ready.map(\.id) == [accepted])
            for (id, reason) in cases {
                let state = try rig.state(id)
                #expect(state.status == .tooManyTimes && state.reason.contains(reason), "\(state)")
            }
            try rig.check()
        }
    }

    @Test func `an equal command that holds the unique key cancels, and another one refuses`() async throws {
        try await InboxRig.run { rig in
            let first = try rig.submit("'noop', '{}', unique_key => 'key “1”'")
            let equal = try rig.submit("'noop', '{}', unique_key => 'key “1”'")
            let other = try rig.submit("'noop', '{\"a\": 1}', unique_key => 'key “1”'")
            let round = try rig.move()
            #expect(round.ready.map(\.id) == [first] && round.refused.map(\.id) == [other])
            let state = try rig.state(equal)
            #expect(state.status == .cancelled && state.reason.contains("an equal command, \(first), holds"))
            let conflict = try rig.state(other)
            #expect(
                conflict.status == .tooManyTimes && conflict.reason.contains("belongs to \(first), which has another"))
            // A holder from an earlier commit.
            let late = try rig.submit("'noop', '{}', unique_key => 'key “1”'")
            try rig.move()
            #expect(try rig.state(late).reason == state.reason)
            try rig.check()
        }
    }

    @Test func `a deadline that passes in the inbox cancels the command`() async throws {
        try await InboxRig.run { rig in
            let id = try rig.submit("'noop', deadline => clock_timestamp() + interval '20 milliseconds'")
            usleep(1000 * 50)
            try rig.move()
            let state = try rig.state(id)
            #expect(state.status == .cancelled && state.reason.contains("deadline passed"))
            try rig.check()
        }
    }

    @Test func `a check that fails leaves the entries in the inbox`() async throws {
        try await InboxRig.run { rig in
            let id = try rig.submit("'noop'")
            let failure = StoreError(.unreachable, "away")
            #expect(throws: failure) {
                try rig.move { entries throws(StoreError) in throw failure }
            }
            #expect(try rig.inboxCount() == 1)
            #expect(try rig.move().ids == [id])
        }
    }

    /// A text with NUL is one that PostgreSQL cannot keep.
    @Test func `an entry that cannot be inserted becomes a dead letter, and the others run`() async throws {
        try await InboxRig.run { rig in
            let ids = try (0..<6).map { _ in try rig.submit("'noop'") }
            let round = try rig.move { entries in
                entries.map { entry in
                    .draft(
                        .noop.with {
                            if entry.id == ids[2] { $0.destination = Destination(unchecked: "https://a\0b") }
                            // Of a type that the known types do not have.
                            if entry.id == ids[3] { $0.limit = "a b" }
                        })
                }
            }
            #expect(Set(round.ids) == Set(ids) && round.ready.count == 4)
            #expect(Set(round.refused.map(\.id)) == [ids[2], ids[3]])
            #expect(try rig.state(ids[2]).reason.contains("NUL"))
            #expect(try rig.inboxCount() == 0)
            try rig.check()
        }
    }

    // MARK: Order

    @Test func `commands of an ordering key run in the order of their calls`() async throws {
        try await InboxRig.run { rig in
            var connection = try rig.connect()
            let ids = try connection.run(
                "SELECT \(rig.schema.name).submit('noop', ordering_key => 'o') FROM generate_series(1, 50)"
            ).rows { row in row[0] as CommandID }
            let round = try rig.move(limit: 7)
            #expect(round.ready.map(\.id) == [ids[0]])
            let turns = try ids.map { try rig.store.command($0)?.turn ?? 0 }
            #expect(turns == turns.sorted() && Set(turns).count == 50)
            try rig.check()
        }
    }

    @Test func `a command waits for parents of the same transaction, in any shard`() async throws {
        try await InboxRig.run { rig in
            var connection = try rig.connect()
            try connection.run("BEGIN")
            let parents = try (0..<20).map { _ in try rig.submit("'noop'", &connection) }
            let list = parents.map { "'\($0)'" }.joined(separator: ", ")
            let child = try rig.submit("'noop', after => ARRAY[\(list)]", &connection)
            let grandchild = try rig.submit("'noop', after => ARRAY['\(child)', '\(parents[7])']", &connection)
            try connection.run("COMMIT")
            let round = try rig.move(limit: 5)
            #expect(Set(round.ready.map(\.id)) == Set(parents) && round.refused.isEmpty)
            #expect(try rig.state(child).status == .blocked && rig.state(grandchild).status == .blocked)
            #expect(child.shardByte == parents[0].shardByte && grandchild.shardByte == child.shardByte)
            try rig.check()
        }
    }

    @Test func `a look at the recent entries leaves older calls to the next look at the whole inbox`() async throws {
        try await InboxRig.run { rig in
            var open = try rig.connect()
            try open.run("BEGIN")
            let old = try rig.submit("'noop', ordering_key => 'o'", &open)
            let first = try rig.submit("'noop'")
            try rig.move(.recent)
            #expect(try rig.state(first).status == .new)
            // The looks at the whole inbox of the next 12 s.
            for seconds in [6, 12] {
                rig.store.inboxMarks.withLock { $0.looked(.whole, newest: nil, now: .now + .seconds(seconds)) }
            }
            try open.run("COMMIT")
            let next = try rig.submit("'noop'")
            #expect(try rig.move(.recent).ids == [next])
            #expect(try rig.inboxCount() == 1)
            // A command of the same key lies behind it.
            let last = try rig.submit("'noop', ordering_key => 'o'")
            let round = try rig.move(.recent)
            #expect(Set(round.ids) == [old, last] && round.ready.map(\.id) == [old])
            try rig.check()
        }
    }

    @Test func `a look takes 8 MiB of payloads, and a larger backlog page by page`() async throws {
        try await InboxRig.run { rig in
            var connection = try rig.connect()
            try connection.run(
                "SELECT \(rig.schema.name).submit('noop', to_json(repeat('a', 1000000))) FROM generate_series(1, 12)")
            var sizes: [Int] = []
            try rig.move { entries in
                sizes.append(entries.count)
                return InboxRig.accept(entries)
            }
            #expect(sizes == [9, 3])
            #expect(try rig.store.counts()[.new] == 12)
        }
    }

    // MARK: Lost answers

    @Test func `a commit of the inbox that is not answered is made once`() async throws {
        let server = try await PostgreSQLServer.shared()
        let proxy = try ServerProxy(to: .loopback(port: server.port)) { connection in
            connection == 0 ? ProxyFault(.close, .commitAnswer) : nil
        }
        try await stopping(proxy) {
            let url = server.url(port: proxy.port) + "?sslmode=disable"
            try await InboxRig.run(url: url) { rig in
                let ids = [try rig.submit("'noop'"), try rig.submit("'no.such.type'")]
                let round = try rig.move()
                #expect(Set(round.ids) == Set(ids) && round.ready.map(\.id) == [ids[0]])
                for id in ids { #expect(try rig.store.timeline(id).count == 1) }
                #expect(try rig.inboxCount() == 0)
                try rig.check()
            }
            #expect(proxy.faulty == [0])
        }
    }

    /// Also between the commit and its answer.
    @Test func `connections that are cut anywhere move each entry once`() async throws {
        let server = try await PostgreSQLServer.shared()
        let random = Mutex(SeededRandom.announced("inbox"))
        let proxy = try ServerProxy(to: .loopback(port: server.port)) { connection in
            if connection % 2 == 1 { return nil }
            return random.withLock { random in
                let isAnswer = random.chance(0.3)
                let trigger: ProxyFault.Trigger =
                    isAnswer
                    ? .commitAnswer
                    : .bytes(random.number(in: 400..<6000), random.chance(0.5) ? .toServer : .toClient)
                return ProxyFault(random.chance(0.5) ? .close : .reset, trigger)
            }
        }
        try await stopping(proxy) {
            let url = server.url(port: proxy.port) + "?sslmode=disable"
            try await InboxRig.run { rig in
                var ids: [CommandID] = []
                for _ in 0..<30 {
                    ids += try (0..<4).map { index in try rig.submit("'noop', unique_key => '\(ids.count + index)'") }
                    // A process that starts, with new connections.
                    guard let store = try? PostgreSQLStore(url: url, schema: rig.schema.name) else { continue }
                    _ = try? InboxRig(schema: rig.schema, store: store).move()
                }
                try rig.move()
                let found = try rig.store.list(CommandFilter(), after: nil, limit: 1000).map(\.id)
                #expect(found.count == ids.count && Set(found) == Set(ids))
                for id in ids { #expect(try rig.store.timeline(id).count == 1) }
                #expect(try rig.inboxCount() == 0)
                try rig.check()
            }
            #expect(proxy.faulty.count >= 10)
        }
    }
}
