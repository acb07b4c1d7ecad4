import SluiceTesting
import Synchronization
import Testing

@Suite struct DrainTests {
    @Test func `urgent commands go first, and those of one class in the order of their submits`() async throws {
        let queue = try TestQueue(operations: [Scripted { execution in try JSONValue(parsing: execution.payload) }])
        for (number, qos) in [
            (1, QualityOfService.background), (2, .default), (3, .utility), (4, .userInitiated), (5, .default),
        ] {
            var options = SubmitOptions()
            options.qos = qos
            try await queue.client.submit("scripted", payload: ["n": .integer(Int64(number))], options: options)
        }
        #expect(try await queue.drain().map { $0.payload["n"]?.integer } == [4, 2, 5, 3, 1])
    }

    @Test func `a drain runs no retry before its time`() async throws {
        let queue = try TestQueue(operations: [
            Scripted { execution in
                if execution.claim < 3 { throw CommandFailure(.command, reason: "again", delivery: .refused) }
                return nil
            }
        ])
        let id = try await queue.client.submit("scripted", payload: [:])
        #expect(try await queue.drain().count == 1)
        #expect(try await queue.drain().isEmpty)
        #expect(try queue.status(of: id) == .error)
        let runs = try await queue.drain(advancing: .seconds(60))
        #expect(runs.map(\.outcome).last == .success(nil))
        #expect(runs.count == 2)
        #expect(queue.now == TestQueue.defaultStart + .seconds(60))
    }

    @Test func `commands run at their own times while the clock moves`() async throws {
        let queue = try TestQueue()
        let times = Mutex<[Timestamp]>([])
        try queue.answer("noop") { _ in
            times.withLock { $0.append(queue.now) }
            return nil
        }
        for seconds in [30, 10] {
            var options = SubmitOptions()
            options.notBefore = queue.now + .seconds(seconds)
            try await queue.client.submit("noop", payload: [:], options: options)
        }
        let start = queue.now
        try await queue.drain(advancing: .seconds(60))
        #expect(times.withLock { $0 } == [start + .seconds(10), start + .seconds(30)])
    }

    @Test func `a deadline that has passed cancels a command that waits`() async throws {
        let queue = try TestQueue()
        var options = SubmitOptions()
        options.notBefore = queue.now + .seconds(20)
        options.deadline = queue.now + .seconds(30)
        let id = try await queue.client.submit("noop", payload: [:], options: options)
        try queue.advance(by: .seconds(30))
        #expect(try queue.status(of: id) == .cancelled)
    }

    @Test func `a type without an operation is named`() async throws {
        let queue = try TestQueue()
        let id = try await queue.client.submit("request", payload: ["url": "https://api.example.com/"])
        let error = await #expect(throws: SluiceError.self) { try await queue.drain() }
        #expect(error?.id == id)
        #expect(error?.message.hasPrefix("no operation executes “request”, the type of command \(id)") == true)
        #expect(try queue.status(of: id) == .new)
    }

    @Test func `an answer stands in for an operation, whose checks remain`() async throws {
        let queue = try TestQueue(operations: [Scripted { _ in ["from": "the operation"] }])
        try queue.answer("request") { _ in ["status": 503] }
        try queue.answer("request") { _ in ["status": 204] }
        try queue.answer("of-another-program") { execution in ["claim": .integer(Int64(execution.claim))] }
        try queue.answer("scripted") { _ in ["from": "the answer"] }
        let run = try await queue.run("request", payload: ["url": "https://api.example.com/x"])
        #expect(run.outcome == .success(["status": 204]))
        #expect(run.command.destination == .api)
        await #expect(throws: SluiceError.self) { try await queue.run("request", payload: ["uri": "x"]) }
        await #expect(throws: SluiceError.self) { try await queue.run("scripted", payload: ["wrong": 1]) }
        #expect(try await queue.run("of-another-program").outcome == .success(["claim": 1]))
        #expect(try await queue.run("scripted").outcome == .success(["from": "the answer"]))
    }

    @Test func `submitted commands are listed with their payloads, in order`() async throws {
        let queue = try TestQueue()
        for number in 1...5 as ClosedRange<Int64> {
            try await queue.client.submit("noop", payload: ["milliseconds": .integer(number)])
        }
        try await queue.client.submit("request", payload: ["url": "https://api.example.com/"])
        #expect(queue.submitted("noop").map { $0.payload["milliseconds"]?.integer } == [1, 2, 3, 4, 5])
        #expect(queue.submitted().map(\.command.type).last == "request")
        #expect(queue.submitted("upload").isEmpty)
    }

    @Test func `a wait of the client ends with the drain, and its events come in order`() async throws {
        let queue = try TestQueue(operations: [Scripted { _ in ["done": true] }])
        let events = try queue.client.events(prefix: "status/")
        let id = try await queue.client.submit("scripted", payload: [:])
        async let outcome = queue.client.wait(for: id)
        try await queue.drain()
        #expect(try await outcome.isSuccess)
        var statuses: [CommandStatus] = []
        for await event in events {
            #expect(event.id == id)
            if let status = event.status { statuses.append(status) }
            if statuses.last?.isFinal == true { break }
        }
        #expect(statuses == [.new, .queued, .sent, .success])
        #expect(try queue.transitions().map(\.status) == statuses)
    }

    @Test func `a wait moves the clock through all retries`() async throws {
        let queue = try TestQueue(operations: [
            Scripted { _ in throw CommandFailure(.command, reason: "never", delivery: .refused) }
        ])
        let id = try await queue.client.submit("scripted", payload: [:])
        let outcome = try await queue.wait(for: id)
        #expect(outcome.status == .tooManyTimes)
        #expect(try queue.command(id).claim == 6)
        // 605 s ± 25 %.
        #expect((450...760).contains((queue.now.milliseconds - TestQueue.defaultStart.milliseconds) / 1000))
    }

    @Test func `a wait that nothing can end is an error with its cause`() async throws {
        var far = Scripted()
        far.destination = .api
        let queue = try TestQueue(operations: [far])
        try queue.setNetwork(.offline)
        let id = try await queue.client.submit("scripted", payload: [:])
        let error = await #expect(throws: SluiceError.self) { try await queue.wait(for: id) }
        #expect(
            error?.message
                == "command \(id) is new, and nothing that is due will end it; its destination is offline")
        try queue.setNetwork(.online)
        #expect(try await queue.wait(for: id).isSuccess)
        await #expect(throws: SluiceError.self) { try await queue.wait(for: CommandID()) }
        #expect(throws: SluiceError.self) { try queue.setNetwork(.offline, for: "api") }
    }

    @Test func `a pause of the client holds commands`() async throws {
        let queue = try TestQueue()
        try await queue.client.pause(qos: .default)
        let id = try await queue.client.submit("noop", payload: [:])
        #expect(try await queue.drain().isEmpty)
        try await queue.client.resume(qos: .default)
        #expect(try await queue.drain().map(\.command.id) == [id])
    }

    @Test func `commands of one ordering key run in the order of their submits, through a retry`() async throws {
        let queue = try TestQueue(operations: [
            Scripted { execution in
                if execution.claim == 1, execution.payload == Array("{\"n\":1}".utf8) {
                    throw CommandFailure(.command, reason: "again", delivery: .refused)
                }
                return nil
            }
        ])
        var options = SubmitOptions()
        options.orderingKey = "account-1"
        for number in 1...3 {
            try await queue.client.submit("scripted", payload: ["n": .integer(Int64(number))], options: options)
        }
        #expect(try await queue.drain().map { $0.payload["n"] } == [1])
        #expect(try await queue.drain(advancing: .seconds(10)).map { $0.payload["n"] } == [1, 2, 3])
    }

    @Test func `a schedule submits at each of its times, and a wrong one is refused`() async throws {
        let queue = try TestQueue()
        try queue.schedule("often", cron: "*/15 * * * *", try queue.client.draft("noop", payload: [:]))
        #expect(try await queue.drain(advancing: .seconds(3600)).count == 4)
        let draft = try queue.client.draft("noop", payload: [:])
        for (name, cron, zone) in [
            ("a b", "@daily", "UTC"), ("a", "61 * * * *", "UTC"), ("a", "@daily", "Europe/Atlantis"),
        ] {
            let error = #expect(throws: SluiceError.self) {
                try queue.schedule(name, cron: cron, zone: zone, draft)
            }
            #expect(error?.code == .invalid)
        }
    }

    @Test func `an operation may submit to the queue that runs it`() async throws {
        let queue = try TestQueue()
        try queue.answer("first") { [client = queue.client] _ in
            let id = try await client.submit("noop", payload: [:])
            return .string("\(id)")
        }
        try await queue.client.submit("first", payload: [:])
        #expect(try await queue.drain().map(\.command.type) == ["first", "noop"])
    }
}
