import Commands
import Testing

@testable import Transfers

/// The fault of a 503 by the recent answers of its destination, on a virtual clock.
@Suite struct DestinationEvidenceTests {
    private static let host = Destination(scheme: "http", host: "a.example", port: 80)
    private static let portal = Destination(scheme: "http", host: "portal.example", port: 80)
    private static let zero = ContinuousClock.now

    private let evidence = DestinationEvidence()
    private let failing = CommandID()
    private let other = CommandID()

    private static func time(_ seconds: Double) -> ContinuousClock.Instant { zero + .seconds(seconds) }

    private static var unavailable: CommandFailure {
        var failure = CommandFailure(.link, reason: "it was answered 503", retryAfter: .seconds(7))
        (failure.isPushback, failure.isAnswer) = (true, true)
        return failure
    }

    private func answer(
        _ status: Int, to id: CommandID, at seconds: Double, from destination: Destination = Self.host
    ) {
        evidence.recordAnswer(status, to: id, at: destination, now: Self.time(seconds))
    }

    private func judge(
        _ failure: CommandFailure = Self.unavailable, redirectedTo target: Destination? = nil, since start: Double,
        now: Double
    ) -> CommandFailure {
        evidence.judge(
            failure, of: failing, at: Self.host, redirectedTo: target, since: Self.time(start), now: Self.time(now))
    }

    struct Case: Sendable, CustomTestStringConvertible {
        /// Seconds after an answer to another command.
        var started: Double
        var failed: Double
        var fault: CommandFailure.Fault

        var testDescription: String { "from \(started) s to \(failed) s after the answer" }
    }

    @Test(arguments: [
        Case(started: 5, failed: 6, fault: .command),
        Case(started: 9, failed: 10, fault: .command),
        Case(started: 9, failed: 10.1, fault: .link),
        Case(started: 0, failed: 600, fault: .command),
        Case(started: 0.1, failed: 600, fault: .link),
    ])
    func `a 503 is charged after another command's answer in the last 10 s or during the request`(_ example: Case) {
        answer(201, to: other, at: 0)
        #expect(judge(since: example.started, now: example.failed).fault == example.fault)
    }

    @Test(arguments: [201, 302, 400, 401, 404, 409, 429, 500, 502, 503, 504, 507, 511])
    func `any answer to another command except 503 and 511 charges a 503`(_ status: Int) {
        answer(status, to: other, at: 0)
        #expect(judge(since: 1, now: 2).fault == (status == 503 || status == 511 ? .link : .command))
    }

    @Test func `a 503 before any answer is the link's failure`() {
        let failure = judge(since: 0, now: 1)
        #expect(failure == Self.unavailable)
    }

    @Test func `a charged 503 keeps its Retry-After`() {
        answer(201, to: other, at: 0)
        let failure = judge(since: 1, now: 2)
        #expect(failure.isPushback && failure.isAnswer && !failure.ambiguous)
        #expect(failure.retryAfter == .seconds(7))
        #expect(failure.reason.hasPrefix("it was answered 503; http://a.example:80 answers other commands"))
    }

    @Test func `an answer to the same command does not charge its 503`() {
        answer(201, to: failing, at: 0)
        answer(404, to: failing, at: 1)
        #expect(judge(since: 1, now: 2).fault == .link)
    }

    @Test func `an answer to the same command does not hide an answer to another`() {
        answer(201, to: other, at: 0)
        answer(404, to: failing, at: 1)
        answer(404, to: failing, at: 2)
        #expect(judge(since: 3, now: 4).fault == .command)
        // The answer to the other command is too old, and those to the same command do not count.
        #expect(judge(since: 10.5, now: 11).fault == .link)
        answer(201, to: other, at: 12)
        #expect(judge(since: 13, now: 14).fault == .command)
    }

    @Test func `an answer of another destination does not charge a 503`() {
        answer(201, to: other, at: 0, from: Self.portal)
        #expect(judge(since: 1, now: 2).fault == .link)
    }

    @Test(arguments: [CommandFailure.Fault.link, .reset, .command, .final, .credential, .destination])
    func `an answer to another command changes only a 503`(_ fault: CommandFailure.Fault) {
        answer(201, to: other, at: 0)
        let failure = CommandFailure(fault, reason: "it failed", ambiguous: true)
        #expect(judge(failure, since: 1, now: 2) == failure)
    }

    @Test(arguments: [false, true])
    func `a 503 does not change the refusals of its destination`(_ isCharged: Bool) {
        let refusal = CommandFailure(.credential, reason: "it was answered 401")
        #expect(!evidence.refusedLastCommand(at: Self.host))
        _ = judge(since: 0, now: 1)
        #expect(!evidence.refusedLastCommand(at: Self.host))
        _ = judge(refusal, since: 1, now: 2)
        if isCharged { answer(401, to: other, at: 2) }
        #expect(judge(since: 3, now: 4).fault == (isCharged ? .command : .link))
        #expect(evidence.refusedLastCommand(at: Self.host))
    }

    @Test func `accepting a file clears the refusals of a destination and not its answers`() {
        _ = judge(CommandFailure(.destination, reason: "it was answered 507"), since: 0, now: 1)
        answer(201, to: other, at: 1)
        evidence.recordSuccess(at: Self.host)
        #expect(!evidence.refusedLastCommand(at: Self.host))
        #expect(judge(since: 2, now: 3).fault == .command)
    }

    @Test func `answers do not change the verdict on redirects to one target`() {
        var redirect = CommandFailure(.final, reason: "it was answered 302")
        redirect.isAnswer = true
        let faults = (1...3).map { number in
            let id = CommandID()
            answer(302, to: id, at: Double(number))
            return evidence.judge(
                redirect, of: id, at: Self.host, redirectedTo: Self.portal, since: Self.time(0), now: Self.time(4)
            ).fault
        }
        #expect(faults == [.command, .command, .destination])
        #expect(evidence.refusedLastCommand(at: Self.host))
    }

    @Test func `answers of many destinations displace older answers but not refusals`() {
        _ = judge(CommandFailure(.destination, reason: "it was answered 507"), since: 0, now: 1)
        answer(201, to: other, at: 1)
        for port in 1..<DestinationEvidence.maxDestinations {
            answer(201, to: other, at: 1, from: Destination(scheme: "http", host: "many.example", port: port))
        }
        #expect(judge(since: 1, now: 2).fault == .command)
        answer(201, to: other, at: 1, from: Self.portal)
        #expect(judge(since: 1, now: 2).fault == .link)
        #expect(evidence.refusedLastCommand(at: Self.host))
    }
}
