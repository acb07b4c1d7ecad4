import Glibc
import Sluice
import Store
import TestSupport
import Testing
import Wire

@Suite struct ObserveTests {
    @Test func `wait returns the result of a command without a coordinator`() async throws {
        try await Rig.with { rig in
            let id = try await rig.client.submit("noop", payload: ["echo": 1])
            async let outcome = rig.client.wait(for: id)
            try rig.execute(id)
            let ended = try await outcome
            #expect(ended.isSuccess)
            #expect(ended.result == Array("{\"echo\":1}".utf8))
            // At once for a command that has ended.
            #expect(try await rig.client.wait(for: id) == ended)
            #expect(try await rig.client.result(id) == ended.result)
        }
    }

    @Test func `wait returns a failure with its reason`() async throws {
        try await Rig.with { rig in
            let id = try await rig.client.submit("noop", payload: ["echo": 1])
            try rig.execute(id, ending: .failure(CommandFailure(.final, reason: "it cannot be")))
            let outcome = try await rig.client.wait(for: id)
            #expect(outcome.status == .tooManyTimes)
            #expect(outcome.reason == "it cannot be")
        }
    }

    @Test func `wait ends with its task, and many can wait for one command`() async throws {
        try await Rig.with { rig in
            let client = rig.client
            let id = try await client.submit("noop", payload: ["echo": 1])
            let cancelled = Task { try await client.wait(for: id) }
            let patient = Task { try await client.wait(for: id) }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            try rig.execute(id)
            #expect(try await patient.value.isSuccess)
        }
    }

    @Test func `wait for an unknown command throws noSuchCommand`() async throws {
        try await Rig.with { rig in
            let id = CommandID()
            let error = await #expect(throws: SluiceError.self) { try await rig.client.wait(for: id) }
            #expect(error?.code == .noSuchCommand)
            #expect(error?.id == id)
        }
    }

    @Test func `close ends waits and streams`() async throws {
        try await Rig.with { rig in
            let client = rig.client
            let stage = try await Stage(rig.directory)
            let id = try await client.submit("noop", payload: ["echo": 1])
            let waiting = Task { try await client.wait(for: id) }
            let events = try client.events()
            let reading = Task { for await _ in events {} }
            try await until("both subscriptions") { Set(stage.prefixes).isSuperset(of: ["", "status/\(id)"]) }
            await client.close()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            await reading.value
            // Later waits and streams end at once.
            await #expect(throws: CancellationError.self) { try await client.wait(for: id) }
            for await _ in try client.events() { Issue.record("a closed client has an event") }
            await stage.leave()
        }
    }

    @Test func `a stream of events continues after a restart of the coordinator`() async throws {
        try await Rig.with { rig in
            let first = try await Stage(rig.directory)
            var events = try rig.client.events(prefix: "worker/").makeAsyncIterator()
            try await until("the subscription") { first.prefixes.contains("worker/") }
            await first.tell("link/x {\"level\":\"good\"}")
            await first.tell("worker/0 {\"pid\":1,\"state\":\"ready\"}")
            let event = try #require(await events.next())
            #expect(event.topic == "worker/0")
            #expect(event.kind == "worker")
            #expect(event.subject == "0")
            #expect(event.body["pid"]?.integer == 1)
            await first.leave()

            let second = try await Stage(rig.directory)
            try await until("the subscription again") { second.prefixes.contains("worker/") }
            await second.tell("worker/1 {\"pid\":2,\"state\":\"ready\",\"snapshot\":true}")
            let next = try #require(await events.next())
            #expect(next.body["pid"]?.integer == 2)
            #expect(next.isSnapshot)
            await second.leave()
        }
    }

    @Test func `the event of an end ends the wait`() async throws {
        try await Rig.with { rig in
            let stage = try await Stage(rig.directory)
            let client = rig.client
            let ids = try await [
                client.submit("noop", payload: ["echo": 1]), client.submit("noop", payload: ["echo": 2]),
            ]
            let waiting = ids.map { id in Task { try await client.wait(for: id) } }
            try await until("both subscriptions") {
                ids.allSatisfy { stage.prefixes.contains("status/\($0)") }
            }
            for id in ids {
                try rig.execute(id)
                await stage.tell("status/\(id) {\"id\":\"\(id)\",\"status\":\"success\"}")
            }
            for task in waiting { #expect(try await task.value.isSuccess) }
            await stage.leave()
        }
    }

    @Test func `a status event is read from its frame`() throws {
        let id = CommandID()
        let event = SluiceEvent(topic: "status/\(id)", body: ["status": "inDoubt"])
        #expect(event.id == id)
        #expect(event.status == .inDoubt)
        #expect(SluiceEvent(frame: Array("no event".utf8)) == nil)
        #expect(SluiceEvent(topic: "counts", body: .object([])).subject.isEmpty)
    }
}
