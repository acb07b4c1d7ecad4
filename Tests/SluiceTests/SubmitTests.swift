import Host
import Membership
import Sluice
import Store
import Synchronization
import TestSupport
import Testing
import Wire
import ZeroMQ

@testable import Queue

@Suite struct SubmitTests {
    @Test func `a submitted command is in the store when its id is returned`() async throws {
        try await Rig.with { rig in
            var options = SubmitOptions()
            options.qos = .userInitiated
            options.retryLimit = 2
            let id = try await rig.client.submit("noop", payload: ["echo": 1], options: options)
            let command = try #require(try rig.store.command(id))
            #expect(command.status == .new)
            #expect(command.qos == .userInitiated)
            #expect(command.retryLimit == 2)
            #expect(command.idempotent)
            #expect(command.destination.text == "http://echo:80")
            #expect(command.total == 5)
            #expect(try rig.store.payload(id) == Array("{\"echo\":1}".utf8))
            #expect(try await rig.client.command(id) == command)
            #expect(try await rig.client.timeline(id).map(\.status) == [.new])
            #expect(try await rig.client.counts()[.new] == 1)
        }
    }

    @Test func `many tasks submit at once, and each gets its own id`() async throws {
        try await Rig.with { rig in
            let client = rig.client
            let ids = try await withThrowingTaskGroup(of: CommandID.self) { group in
                for number in 0..<500 {
                    group.addTask { try await client.submit("noop", payload: ["echo": .integer(Int64(number))]) }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(ids.count == 500)
            #expect(try rig.store.counts()[.new] == 500)
        }
    }

    @Test func `a bulk returns a result for each draft, in order`() async throws {
        try await Rig.with { rig in
            let good = try rig.client.draft("noop", payload: ["echo": 1])
            var unknown = good
            unknown.type = "unknown.type"
            let results = await rig.client.submit(bulk: [good, unknown, good])
            #expect(results.count == 3)
            #expect(try rig.store.command(results[0].get()) != nil)
            #expect(throws: SluiceError.self) { try results[1].get() }
            #expect(try rig.store.command(results[2].get()) != nil)
            #expect(try rig.store.counts()[.new] == 2)
        }
    }

    @Test func `a unique key returns the first id, and is refused for another payload`() async throws {
        try await Rig.with { rig in
            var options = SubmitOptions()
            options.uniqueKey = "once"
            let first = try await rig.client.submit("noop", payload: ["echo": 1], options: options)
            let second = try await rig.client.submit("noop", payload: ["echo": 1], options: options)
            #expect(first == second)
            let error = await #expect(throws: SluiceError.self) {
                try await rig.client.submit("noop", payload: ["echo": 2], options: options)
            }
            #expect(error?.code == .conflict && error?.id == first)
            #expect(error?.message.contains("held while the command is kept") == true)
        }
    }

    @Test func `a submit says whether its command is new or existed`() async throws {
        try await Rig.with { rig in
            var options = SubmitOptions()
            options.uniqueKey = "once"
            options.uniqueFor = .running
            func submit() async throws -> Submission {
                try await rig.client.submitOrFind("noop", payload: ["echo": 1], options: options)
            }
            let first = try await submit()
            #expect(!first.isExisting)
            let second = try await submit()
            #expect(second.id == first.id && second.isExisting)
            let draft = try rig.client.draft("noop", payload: ["echo": 1], options: options)
            #expect(draft.uniqueFor == .running)
            #expect(try await rig.client.submitOrFind(draft).isExisting)
            let bulk = await rig.client.submitOrFind(bulk: [draft, draft])
            #expect(try bulk.map { try $0.get().id } == [first.id, first.id])

            try rig.execute(first.id)
            let third = try await submit()
            #expect(!third.isExisting && third.id != first.id)
            let command = try #require(try await rig.client.command(third.id))
            #expect(command.uniqueFor == .running && command.holdsUniqueKey(at: .now))
        }
    }

    @Test func `a payload is checked before anything is written`() async throws {
        try await Rig.with { rig in
            let client = rig.client
            func code(_ type: String, _ payload: JSONValue, _ change: (inout SubmitOptions) -> Void = { _ in })
                -> SluiceError.Code?
            {
                var options = SubmitOptions()
                change(&options)
                do throws(SluiceError) {
                    _ = try client.draft(type, payload: payload, options: options)
                    return nil
                } catch {
                    return error.code
                }
            }
            #expect(code("noop", ["ekko": 1]) == .invalid)
            #expect(code("noop", [1]) == .invalid)
            #expect(code("No Op", ["echo": 1]) == .invalid)
            #expect(code("noop", ["echo": 1]) { $0.retryLimit = -1 } == .invalid)
            #expect(code("noop", ["echo": .string(String(repeating: "x", count: Command.payloadLimit))]) == .invalid)
            #expect(code("noop", ["echo": 1]) == nil)
            let counts = try rig.store.counts()
            #expect(counts[.new] == 0)
        }
    }

    @Test func `a type that no worker has run is refused unless it is allowed`() async throws {
        try await Rig.with { rig in
            var options = SubmitOptions()
            await #expect(throws: SluiceError.self) {
                try await rig.client.submit("checksum", payload: ["file": "/x"], options: options)
            }
            options.allowUnknownType = true
            options.destination = Destination("https://host/path")
            let id = try await rig.client.submit("checksum", payload: ["file": "/x"], options: options)
            let command = try #require(try rig.store.command(id))
            #expect(command.destination.text == "https://host:443")
            #expect(!command.idempotent)
        }
    }

    @Test func `the payload of an upload is checked, and its destination and size are read`() async throws {
        let place = try TemporaryDirectory("sluice")
        defer { place.remove() }
        let file = try place.file("photo.jpg", [UInt8](repeating: 7, count: 1000))
        let client = try SluiceClient(data: "\(place.path)/data")
        let good: JSONValue = ["file": .string(file), "to": "http://127.0.0.1:9/in/"]
        let id = try await client.submit("upload", payload: good)
        let command = try #require(try await client.command(id))
        #expect(command.destination.text == "http://127.0.0.1:9")
        #expect(command.total == 1000)
        #expect(command.idempotent)
        let wrong: [JSONValue] = [
            ["file": "/nonexistent", "to": "http://host/"], ["file": .string(file)], ["fyle": "x"],
        ]
        for bad in wrong {
            await #expect(throws: SluiceError.self) { try await client.submit("upload", payload: bad) }
        }
        #expect(try await client.counts()[.new] == 1)
        await client.close()
    }

    @Test func `the coordinator gets a hint for every submit, and one for a bulk`() async throws {
        try await Rig.with { rig in
            let stage = try await Stage(rig.directory)
            let id = try await rig.client.submit("noop", payload: ["echo": 1])
            try await until("the hint") { stage.submitted.contains { $0.id == id } }
            #expect(stage.submitted.first?.remaining == 5, "as the operation said")
            let draft = try rig.client.draft("noop", payload: ["echo": 1])
            let results = await rig.client.submit(bulk: Array(repeating: draft, count: 5000))
            let ids = try Set(results.map { try $0.get() })
            try await until("the hints of the bulk") { ids.isSubset(of: stage.hints.flatMap(\.ids)) }
            #expect(stage.hints.allSatisfy { $0.ids.count <= Hint.maxCount })
            await stage.leave()
        }
    }

    @Test func `bulk is committed in parts, in order, and a part that fails fails its own drafts only`() async throws {
        let place = try TemporaryDirectory("sluice")
        defer { place.remove() }
        let directory = DataDirectory(path: "\(place.path)/data")
        // Nothing is submitted while more than this is in the WAL: a few drafts are less, and 4,096 are more.
        let limit: Int64 = 400_000
        let store = try SQLiteStore(directory: directory, create: true, shardCount: 1, vfs: nil, walLimit: limit)
        let client = try SluiceClient(OpenedStore(store, in: directory), registry: OperationRegistry([Echo()]))
        let drafts = try (0..<10_000).map { number in
            try client.draft("noop", payload: ["echo": .integer(Int64(number))])
        }
        _ = try store.checkpoint(shard: 0)
        try await client.submit(drafts[0])
        // While a transaction reads, the WAL is not started over.
        let reader = try SQLiteProbe(directory.shard(0))
        try reader.run("BEGIN")
        _ = try reader.number("SELECT count(*) FROM command")
        let results = await client.submit(bulk: drafts)
        let codes = results.map { result -> SluiceError.Code? in
            if case .failure(let error) = result { return error.code }
            return nil
        }
        #expect(codes.count == 10_000)
        #expect(codes.firstIndex { $0 != nil } == 4096)
        #expect(codes.dropFirst(4096).allSatisfy { $0 == .tryAgain })
        #expect(try store.counts()[.new] == 1 + 4096, "what is told to be there, and no more")
        try reader.run("COMMIT")
        // The parts are put together in order.
        let ids = try await client.submit(bulk: Array(drafts.prefix(5000))).map { try $0.get() }
        #expect(Set(ids).count == 5000)
        for number in [0, 4095, 4096, 4999] {
            #expect(try store.payload(ids[number]) == Array("{\"echo\":\(number)}".utf8))
        }
        await client.close()
    }

    @Test func `a submit that comes while the client closes is committed, and keeps nothing open`() async throws {
        try await Rig.with { rig in
            let draft = try rig.client.draft("noop", payload: ["echo": 1])
            let endpoints = try rig.directory.endpoints.open()
            let lane = try SubmitBatcher(store: rig.store, hints: .socket(endpoints))
            lane.start()
            await lane.close()
            // As from a task that had come as far as this when the client was closed.
            lane.send(.changed, [CommandID()])
            let results = await lane.submit([draft], allowUnknownTypes: false)
            let id = try results[0].get().id
            #expect(try rig.store.command(id)?.status == .new)
            let isOver = Mutex(false)
            Task.detached {
                // Returns only when every socket is closed.
                endpoints.close()
                isOver.withLock { $0 = true }
            }
            try await until("the end of the sockets") { isOver.withLock { $0 } }
            withExtendedLifetime(lane) {}
        }
    }

    @Test func `the URL of a database is refused by a client and by a worker`() {
        let refused = SluiceError(
            .invalid, "a data directory is a path, not a URL; give the URL of a store by --store or SLUICE_STORE")
        #expect(throws: refused) { try SluiceClient(data: "postgres://host/db") }
        #expect(throws: refused) { try SluiceClient(data: "postgresql://host/db", create: false) }
        #expect(throws: refused) { try SluiceWorker(data: "postgres://host/db", operations: [Echo()]) }
    }

    @Test func `a directory without a store is made, or named`() throws {
        let place = try TemporaryDirectory("sluice")
        defer { place.remove() }
        let error = #expect(throws: SluiceError.self) {
            try SluiceClient(data: "\(place.path)/none", create: false)
        }
        #expect(error?.code == .noStore)
        #expect(error?.message.contains("\(place.path)/none") == true)
        #expect(throws: Never.self) { try SluiceClient(data: "\(place.path)/some") }
    }
}
