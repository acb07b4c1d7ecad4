import ExampleQuotes
import SluiceTesting
import Testing

@Suite struct ImportQuotesTests {
    private let table = QuoteTable()

    /// Runs a test with a file of five quotes, two of them a batch.
    private func with(_ body: (TestQueue, JSONValue) async throws -> Void) async throws {
        let file = try QuoteFile(["a", "b", "c", "d", "e"])
        defer { file.remove() }
        let queue = try TestQueue(operations: [ImportQuotes(into: table, batch: 2)])
        try await body(queue, ["file": .string(file.path)])
    }

    @Test func `an import leaves the number of its rows`() async throws {
        try await with { queue, payload in
            let run = try await queue.run("import-quotes", payload: payload)
            #expect(run.outcome == .success(["rows": 5]))
            #expect(run.progress.last == .init(offset: 5, total: 5))
            #expect(await table.rows == ["a", "b", "c", "d", "e"])
        }
    }

    @Test func `an import waits for a locked table, and succeeds with its retry`() async throws {
        try await with { queue, payload in
            await table.setLocked(true)
            let run = try await queue.run("import-quotes", payload: payload)
            guard case .retry(let time) = run.outcome else { throw Unexpected(run) }
            #expect(time > queue.now)
            await table.setLocked(false)
            try queue.advance(by: time - queue.now)
            #expect(try await queue.drain().map(\.outcome) == [.success(["rows": 5])])
        }
    }

    @Test func `an import that is preempted goes on behind its checkpoint`() async throws {
        try await with { queue, payload in
            let first = try await queue.run(
                "import-quotes", payload: payload, interruption: .preempt(at: .checkpoint(1)))
            #expect(first.outcome == .released)
            #expect(await table.rows == ["a", "b"])
            let second = try await queue.drain()
            #expect(second.first?.progress.map(\.offset) == [4, 5])
            #expect(await table.rows == ["a", "b", "c", "d", "e"])
        }
    }

    @Test func `an import whose worker dies is repeated without a row twice`() async throws {
        try await with { queue, payload in
            try await queue.run("import-quotes", payload: payload, interruption: .crash(at: .checkpoint(2)))
            #expect(try await queue.drain().map(\.outcome) == [.success(["rows": 5])])
            #expect(await table.rows == ["a", "b", "c", "d", "e"])
        }
    }

    @Test func `an import without a file is given up at once`() async throws {
        let queue = try TestQueue(operations: [ImportQuotes(into: table)])
        let run = try await queue.run("import-quotes", payload: ["path": "/tmp/quotes"])
        #expect(run.outcome == .failed)
        #expect(run.reason == "the payload of import-quotes is {\"file\": PATH}")
    }
}

/// An execution that ended otherwise than the test needs.
struct Unexpected: Error {
    let run: TestRun
    init(_ run: TestRun) { self.run = run }
}
