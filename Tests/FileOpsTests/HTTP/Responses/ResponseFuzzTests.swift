import Commands
import HTTPClient
import Synchronization
import TestSupport
import Testing
import Transfers

/// The client against a server that answers at random.
@Suite struct ResponseFuzzTests {
    private static let exchanges = 2_000
    /// Concurrent executions. They share the client's connections, so that leftovers of one response meet the
    /// next request.
    private static let concurrency = 8

    /// One exchange with a wrong result.
    private struct Offence: CustomStringConvertible {
        var number: Int
        var what: String
        var answer: RandomAnswer

        init(_ number: Int, _ what: String, _ answer: RandomAnswer) {
            self.number = number
            self.what = what
            self.answer = answer
        }

        var description: String {
            "exchange \(number): \(what.prefix(200)); damage \(answer.faults), body \(answer.bodySize), “\(answer.text)”"
        }
    }

    /// The progress of all executions.
    private final class Progress: Sendable {
        private struct State {
            var next = 0
            var successes: [Int] = []
            var offences: [Offence] = []
        }

        private let state = Mutex(State())

        /// The number of the next exchange; nil after the last.
        func next() -> Int? {
            state.withLock { state in
                state.next += 1
                return state.next <= exchanges ? state.next - 1 : nil
            }
        }

        func succeeded(_ number: Int) { state.withLock { $0.successes.append(number) } }
        func offended(_ offence: Offence) { state.withLock { $0.offences.append(offence) } }
        var successes: [Int] { state.withLock { $0.successes } }
        var offences: [Offence] { state.withLock { $0.offences } }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `no response makes the client trap, hang or report a success without one`()
        async throws
    {
        var random = SeededRandom.announced("responses at random")
        let answers = (0..<Self.exchanges).map { _ in RandomAnswer(using: &random) }
        var configuration = HTTPConfiguration()
        configuration.client.silenceTimeout = .milliseconds(150)
        configuration.responseTimeout = .milliseconds(150)
        try await withServer("", idleTimeout: .milliseconds(150), configuration: configuration) { server, harness in
            for (number, answer) in answers.enumerated() { server.on("/\(number)", answer.behaviour) }
            let progress = Progress()
            let began = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<Self.concurrency {
                    group.addTask {
                        while let number = progress.next() {
                            try await Self.exchange(number, answers[number], server, harness, progress)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let inheritors = Self.inheritors(server.requests, answers)
            // Exchanges on broken connections are excused, so there must be few of them: 10 to 11 % are usual, because
            // a connection whose head could be mended is used again.
            #expect(inheritors.count < Self.exchanges / 7, "\(inheritors.count) exchanges used a broken connection")
            let offences = progress.offences.filter { !inheritors.contains($0.number) }
            #expect(offences.isEmpty, "\(offences.count), the first of them \(offences.prefix(5))")
            // If the server reads the request first, a success without its whole body belongs to another exchange.
            let reported = progress.successes
            #expect(reported.count > Self.exchanges / 10 && reported.count < Self.exchanges * 9 / 10)
            let whole = Set(server.requests.filter(\.isWhole).map(\.target))
            let missing = reported.filter {
                answers[$0].readsFirst && !whole.contains("/\($0)") && !inheritors.contains($0)
            }
            #expect(missing.isEmpty, "\(missing.prefix(5).map { Offence($0, "bytes are missing", answers[$0]) })")
            print("\(reported.count) successes in \(began.duration(to: .now))")
        }
    }

    /// Exchanges on a connection that has carried a broken answer. Its leftovers may arrive after the next
    /// request was sent, and then no client can distinguish them from the response (RFC 9112, section 9.2).
    /// The server may not even read the request.
    private static func inheritors(_ requests: [ReceivedRequest], _ answers: [RandomAnswer]) -> Set<Int> {
        var isBroken: Set<Int> = []
        var inheritors = Set(answers.indices).subtracting(requests.compactMap { Int($0.target.dropFirst()) })
        for request in requests {
            guard let number = Int(request.target.dropFirst()) else { continue }
            if isBroken.contains(request.connection) { inheritors.insert(number) }
            if !answers[number].faults.isEmpty { isBroken.insert(request.connection) }
        }
        return inheritors
    }

    private static func exchange(
        _ number: Int, _ answer: RandomAnswer, _ server: ScriptedServer, _ harness: UploadHarness, _ progress: Progress
    ) async throws {
        let file = try harness.hollowFile(answer.bodySize, name: "body-\(number)")
        do {
            let outcome = try await harness.outcome(
                file: file, to: "\(server.origin)/\(number)", method: number.isMultiple(of: 2) ? "PUT" : "POST",
                within: .seconds(20))
            guard case .success = outcome else { return }
            progress.succeeded(number)
            if !answer.mayBeSuccess { progress.offended(Offence(number, "\(outcome)", answer)) }
        } catch let missed as Missed {
            progress.offended(Offence(number, "\(missed)", answer))
        }
    }
}
