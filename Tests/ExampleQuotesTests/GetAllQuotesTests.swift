import ExampleQuotes
import SluiceTesting
import Synchronization
import Testing

@Suite struct GetAllQuotesTests {
    private let table = QuoteTable()

    /// Runs a test with a queue whose download brings three quotes.
    private func with(_ body: (TestQueue) async throws -> Void) async throws {
        let file = try QuoteFile(["a", "b", "c"])
        defer { file.remove() }
        let queue = try TestQueue(operations: [ImportQuotes(into: table)])
        let path = file.path
        try queue.answer("download") { _ in ["path": .string(path), "bytes": 6] }
        try queue.answer("request") { _ in ["status": 204] }
        try await body(queue)
    }

    private func submit(to queue: TestQueue) async throws -> CommandID {
        let flow = try getAllQuotes(
            from: "https://q.example.com/all.txt", tell: "https://hooks.example.com/quotes", with: queue.client)
        return try await queue.client.submit(flow)
    }

    @Test func `the receiver is told how many quotes were imported`() async throws {
        try await with { queue in
            let id = try await submit(to: queue)
            let runs = try await queue.drain()
            #expect(runs.map(\.command.type) == ["download", "import-quotes", "request"])
            #expect(runs.last?.payload["json"] == ["rows": 3])
            #expect(try queue.status(of: id) == .success)
        }
    }

    @Test func `an import that fails cancels the notification, and a retry of the flow finishes it`() async throws {
        try await with { queue in
            let id = try await submit(to: queue)
            await table.setLocked(true)
            let outcome = try await queue.wait(for: id)
            #expect(outcome.status == .tooManyTimes)
            #expect(
                try queue.statuses(of: id) == ["download": .success, "import": .tooManyTimes, "notify": .cancelled])

            await table.setLocked(false)
            try await queue.client.retry(id)
            #expect(try await queue.wait(for: id).isSuccess)
            #expect(try queue.statuses(of: id) == ["download": .success, "import": .success, "notify": .success])
        }
    }

    @Test func `the notification waits while its receiver is offline`() async throws {
        try await with { queue in
            let id = try await submit(to: queue)
            try queue.setNetwork(.offline, for: "https://hooks.example.com")
            #expect(
                try await queue.drain(advancing: .seconds(3600)).map(\.command.type) == ["download", "import-quotes"])
            #expect(try queue.statuses(of: id)["notify"] == .new)
            try queue.setNetwork(.online, for: "https://hooks.example.com")
            #expect(try await queue.wait(for: id).isSuccess)
        }
    }

    @Test func `the flow is submitted every night`() async throws {
        try await with { queue in
            let flow = try getAllQuotes(
                from: "https://q.example.com/all.txt", tell: "https://hooks.example.com/quotes", with: queue.client)
            try queue.schedule("nightly", cron: "30 2 * * *", zone: "Europe/Berlin", flow)
            let runs = try await queue.drain(advancing: .seconds(2 * 86_400))
            #expect(runs.count == 6)
            // 02:30 in Berlin, in winter.
            #expect(
                queue.submitted("download").map(\.command.createdAt.description) == [
                    "2026-01-01T01:30:00.000Z", "2026-01-02T01:30:00.000Z",
                ])
        }
    }
}
