import Commands
import TestSupport
import Testing

@testable import Transfers

/// Final refusals that a destination gives to every command alike.
@Suite struct EqualRefusalsTests {
    private static let gateway = "* * : read; answer 403 body \"<title>Log in</title>\""

    @Test func `from the fifth equal refusal on commands wait, and the reason names those that were given up`()
        async throws
    {
        try await withServer(Self.gateway) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            let ids = (1...7).map { _ in CommandID() }
            var failures: [CommandFailure] = []
            for (index, id) in ids.enumerated() {
                let outcome = try await harness.outcome(
                    file: file, to: "\(server.origin)/\(index)", method: index % 2 == 0 ? "PUT" : "POST", id: id)
                failures.append(try #require(outcome.failure))
            }
            #expect(
                failures.map(\.fault) == [.final, .final, .final, .final, .destination, .destination, .destination])
            #expect(failures.allSatisfy { $0.isAnswer && !$0.ambiguous })
            let retry = "sluice retry \(ids.prefix(4).map(\.description).joined(separator: " "))"
            #expect(failures.suffix(3).allSatisfy { $0.reason.contains(retry) }, "\(failures.last?.reason ?? "")")
        }
    }

    @Test func `one command that is executed again counts once`() {
        var refusals = EqualRefusals()
        let (id, now) = (CommandID(), ContinuousClock.now)
        for _ in 1...9 { #expect(refusals.add(.init(404, []), of: id, now: now) == nil) }
    }

    @Test(arguments: [("404", "404"), ("403 body \"a\"", "403 body \"b\""), ("403", "404")])
    func `other refusals and refusals of reading commands stay final`(_ first: String, _ second: String) async throws {
        let script = "* * every 2 : read; answer \(first)\n* * : read; answer \(second)"
        guard first != second else {
            return try await RequestHarness.with("* * : read; answer \(first)") { harness in
                for _ in 1...7 {
                    let outcome = try await harness.outcome(["url": harness.url("/a")])
                    #expect(outcome.failure?.fault == .final, "\(outcome)")
                }
            }
        }
        try await withServer(script) { server, harness in
            let file = try harness.directory.file("a", sample(1000))
            for _ in 1...12 {
                let outcome = try await harness.outcome(file: file, to: "\(server.origin)/a")
                #expect(outcome.failure?.fault == .final, "\(outcome)")
            }
        }
    }

    @Test func `a success of the last hour leaves refusals final, and an older one does not`() {
        let host = Destination(scheme: "http", host: "a.example", port: 80)
        let (evidence, start) = (DestinationEvidence(), ContinuousClock.now)
        func refuse(after seconds: Int64) -> CommandFailure.Fault {
            let now = start + .seconds(seconds)
            return evidence.judge(
                CommandFailure(.final, reason: "404"), of: CommandID(), at: host, refusal: .init(404, []), since: now,
                now: now
            ).fault
        }
        evidence.recordSuccess(at: host, now: start)
        #expect((1...9).map { refuse(after: $0) }.allSatisfy { $0 == .final })
        #expect(refuse(after: 3599) == .final)
        #expect(refuse(after: 3600) == .destination)
        evidence.recordSuccess(at: host, now: start + .seconds(3700))
        #expect((3701...3709).map { refuse(after: $0) }.allSatisfy { $0 == .final })
        // Refusals of more than an hour ago do not count.
        #expect((11_000...11_003).map { refuse(after: $0) }.allSatisfy { $0 == .final })
        #expect(refuse(after: 11_004) == .destination)
    }

    // MARK: 413

    @Test func `files as large as those that were refused wait, and smaller ones go`() async throws {
        let script = """
            * * body > 2k : answer 413; discard 5s
            * * : read; answer 201
            """
        try await withServer(script) { server, harness in
            var failures: [CommandFailure] = []
            for size in [9000, 5000, 3000, 7000, 4000, 6000] {
                let file = try harness.directory.file("\(size)", sample(size))
                failures.append(
                    try #require(try await harness.outcome(file: file, to: "\(server.origin)/\(size)").failure))
            }
            #expect(failures.prefix(4).allSatisfy { $0.fault == .final })
            #expect(failures.suffix(2).allSatisfy { $0.isHeldBack && $0.retryAfter ?? .zero > .seconds(50) })
            #expect(failures[4].reason.contains("sluice retry --status gaveUp --error 413"), "\(failures[4].reason)")
            // The sixth was not sent at all.
            #expect(server.requests.count == 5)
            for size in [2000, 2999 - 1000] {
                let file = try harness.directory.file("small\(size)", sample(size))
                let outcome = try await harness.outcome(file: file, to: "\(server.origin)/small")
                #expect(outcome.result?["status"] == 201, "\(outcome)")
            }
        }
    }

    @Test func `one large file is tried each minute, and its success lets all go`() {
        var refusals = LargeFileRefusals()
        let now = ContinuousClock.now
        for size in Int64(1)...4 { #expect(refusals.add(CommandID(), size: size * 1000, now: now) == nil) }
        #expect(refusals.wait(size: 9000, now: now) == nil)
        #expect(refusals.add(CommandID(), size: 5000, now: now) == .seconds(60))
        #expect(refusals.wait(size: 999, now: now) == nil)
        #expect(refusals.wait(size: 1000, now: now + .seconds(59))?.wait == .seconds(1))
        #expect(refusals.wait(size: 1000, now: now + .seconds(60)) == nil)
        #expect(refusals.wait(size: 1000, now: now + .seconds(61))?.limit == 1000)
        refusals.accepted(size: 999)
        #expect(refusals.wait(size: 1000, now: now + .seconds(61)) != nil)
        refusals.accepted(size: 1000)
        #expect(refusals.wait(size: 1000, now: now + .seconds(61)) == nil)
    }
}
