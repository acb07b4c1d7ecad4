import Commands
import Testing

@testable import S3

/// A row of the tables: the answer, and its consequence in words.
struct VerdictRow: Sendable, CustomTestStringConvertible {
    var status: Int
    var code: String?
    var consequence: String
    var step = S3Step.part(3)

    init(_ status: Int, _ code: String?, _ consequence: String, _ step: S3Step = .part(3)) {
        self.status = status
        self.code = code
        self.consequence = consequence
        self.step = step
    }

    var testDescription: String { "\(status) \(code ?? "–") to \(step): \(consequence)" }
}

@Suite struct S3VerdictTests {
    private static let now = Timestamp(milliseconds: 1_763_000_000_000)

    private let verdict = S3Verdict(
        request: "PUT https://s3.example.com/media/a, part 3",
        destination: Destination(scheme: "https", host: "s3.example.com", port: 443), now: now)

    /// The decision as words: `link pushback`, `command ambiguous`, `restart`.
    private func words(_ decision: S3Decision) -> String {
        switch decision {
        case .fail(let failure): words(failure)
        case .correctClock(let offset): "clock \(offset.offset.milliseconds)"
        case .sendAgain: "again"
        case .inspectThenRestart: "HEAD, restart"
        case .restart: "restart"
        case .inspectThenFail(let failure): "HEAD, \(words(failure))"
        }
    }

    private func words(_ failure: CommandFailure) -> String {
        "\(failure.fault)\(failure.isPushback ? " pushback" : "")\(failure.ambiguous ? " ambiguous" : "")"
            + (failure.isAnswer ? "" : " no-answer")
    }

    static let rows: [VerdictRow] = [
        .init(503, "SlowDown", "link pushback"), .init(503, "ServiceUnavailable", "link pushback"),
        .init(503, nil, "link pushback"), .init(429, "SlowDown", "link pushback"),
        .init(200, "SlowDown", "link pushback", .complete),
        .init(503, "SlowDownWrite", "link pushback"),
        .init(500, "InternalError", "command"), .init(400, "RequestTimeout", "command"),
        .init(409, "OperationAborted", "command"), .init(400, "IncompleteBody", "command"), .init(500, nil, "command"),
        .init(502, nil, "command"), .init(504, nil, "command"), .init(505, nil, "command"), .init(408, nil, "command"),
        .init(425, nil, "command"), .init(429, nil, "command pushback"), .init(421, nil, "command"),
        .init(500, "InternalError", "command ambiguous", .complete), .init(502, nil, "command ambiguous", .complete),
        .init(504, nil, "command ambiguous", .put), .init(200, "InternalError", "command ambiguous", .complete),
        .init(400, "RequestTimeout", "command", .put), .init(500, nil, "command", .create),
        .init(403, "InvalidAccessKeyId", "credential"), .init(403, "SignatureDoesNotMatch", "credential"),
        .init(400, "ExpiredToken", "credential"), .init(400, "InvalidToken", "credential"),
        .init(403, "AccessDenied", "credential"), .init(403, nil, "credential"), .init(403, nil, "credential", .head),
        .init(401, nil, "credential"), .init(400, "AuthorizationHeaderMalformed", "credential"),
        .init(404, "NoSuchBucket", "final", .create), .init(404, "NoSuchBucket", "final"),
        .init(400, "EntityTooLarge", "final"), .init(400, "InvalidArgument", "final"),
        .init(400, "KeyTooLongError", "final", .create), .init(400, "KeyTooLong", "final", .put),
        .init(501, "NotImplemented", "final", .complete), .init(501, nil, "final"),
        .init(405, "MethodNotAllowed", "final"),
        .init(400, "EntityTooSmall", "final", .complete), .init(400, "InvalidRequest", "final"),
        .init(411, nil, "final"),
        .init(404, "NoSuchUpload", "HEAD, restart"), .init(404, "NoSuchUpload", "HEAD, restart", .complete),
        .init(404, "NoSuchUpload", "HEAD, restart", .listParts), .init(404, nil, "HEAD, restart"),
        .init(400, "InvalidPart", "HEAD, restart", .complete),
        .init(400, "InvalidPartOrder", "HEAD, restart", .complete),
        .init(404, nil, "final", .create), .init(404, nil, "final", .put),
        .init(400, "BadDigest", "again"), .init(400, "XAmzContentSHA256Mismatch", "again", .put),
        .init(400, "BadDigest", "command", .complete),
        .init(301, "PermanentRedirect", "final"), .init(301, nil, "final", .head),
        .init(307, "TemporaryRedirect", "final"),
        .init(302, nil, "final"),
        .init(409, "ConditionalRequestConflict", "restart", .complete),
        .init(409, "ConditionalRequestConflict", "command", .put), .init(409, nil, "final", .create),
        .init(412, "PreconditionFailed", "final", .complete), .init(412, nil, "final", .put),
        .init(507, nil, "destination"), .init(511, nil, "link no-answer"),
        .init(299, "Unknown", "command ambiguous", .complete), .init(200, "Unknown", "command", .listParts),
    ]

    @Test(arguments: rows)
    func `a code or status has the consequence of its row`(_ row: VerdictRow) {
        let decision = verdict.decision(S3Refusal(status: row.status, code: row.code), S3Attempt(row.step))
        #expect(words(decision) == row.consequence)
        if case .fail(let failure) = decision {
            #expect(failure.reason.contains("PUT https://s3.example.com/media/a, part 3 was answered \(row.status)"))
            if let code = row.code { #expect(failure.reason.contains(code)) }
        }
    }

    private func decision(
        _ status: Int, _ code: String?, _ step: S3Step = .part(3), change: (inout S3Attempt, inout S3Refusal) -> Void
    ) -> S3Decision {
        var attempt = S3Attempt(step)
        var refusal = S3Refusal(status: status, code: code)
        change(&attempt, &refusal)
        return verdict.decision(refusal, attempt)
    }

    private func failed(_ decision: S3Decision) -> CommandFailure? {
        if case .fail(let failure) = decision { failure } else { nil }
    }

    @Test func `a repeated denial is final`() {
        #expect(words(decision(403, "AccessDenied") { attempt, _ in attempt.wasDenied = true }) == "final")
        #expect(words(decision(403, nil, .head) { attempt, _ in attempt.wasDenied = true }) == "final")
        let mismatch = decision(403, "SignatureDoesNotMatch") { attempt, _ in attempt.wasDenied = true }
        #expect(words(mismatch) == "credential")
    }

    @Test func `the fourth loss of an upload is charged`() {
        for restarts in 0...4 {
            let expected = restarts < 3 ? "HEAD, restart" : "command"
            #expect(words(decision(404, "NoSuchUpload") { attempt, _ in attempt.restarts = restarts }) == expected)
        }
        let conflict = decision(409, "ConditionalRequestConflict", .complete) { attempt, _ in attempt.restarts = 3 }
        #expect(words(conflict) == "command")
    }

    @Test func `a second bad digest of the same bytes is final`() throws {
        let failure = try #require(failed(decision(400, "BadDigest") { attempt, _ in attempt.wasDamaged = true }))
        #expect(failure.fault == .final && failure.reason.contains("the source or the path damages bytes"))
    }

    @Test(arguments: [(960, "960 s behind"), (-1020, "1020 s ahead")])
    func `a skewed clock is corrected once, and then its difference is named`(_ seconds: Int, _ text: String) throws {
        let serverTime = Self.now + .seconds(seconds)
        let first = decision(403, "RequestTimeTooSkewed") { _, refusal in refusal.serverTime = serverTime }
        guard case .correctClock(let offset) = first else {
            Issue.record("\(first)")
            return
        }
        #expect(offset.time(Self.now) == serverTime)
        let second = decision(403, "RequestTimeTooSkewed") { attempt, refusal in
            attempt.hasCorrectedClock = true
            refusal.serverTime = serverTime
        }
        let failure = try #require(failed(second))
        #expect(failure.fault == .final)
        #expect(failure.reason.contains("this host's clock is \(text)"), "\(failure.reason)")
    }

    @Test func `a skewed clock without the endpoint's time is final`() {
        #expect(words(decision(403, "RequestTimeTooSkewed") { _, _ in }) == "final")
    }

    @Test(
        arguments: [
            ("AuthorizationHeaderMalformed", "eu-west-1", nil, "“region”: “eu-west-1”"),
            ("PermanentRedirect", "eu-west-1", "media.s3.eu-west-1.amazonaws.com", "media.s3.eu-west-1.amazonaws.com"),
            ("PermanentRedirect", nil, nil, "does not name"), (nil, "eu-west-1", nil, "“region”: “eu-west-1”"),
        ] as [(String?, String?, String?, String)])
    func `a redirect is final and names the right endpoint or region`(
        _ code: String?, _ region: String?, _ endpoint: String?, _ text: String
    ) throws {
        let decision = decision(301, code) { _, refusal in
            refusal.region = region
            refusal.endpoint = endpoint
        }
        let failure = try #require(failed(decision))
        #expect(failure.fault == .final && failure.reason.contains(text), "\(failure.reason)")
    }

    @Test func `a 412 of a command that never replaces leads to a look at the object`() {
        for step in [S3Step.complete, .put] {
            for code in ["PreconditionFailed", nil] {
                #expect(words(decision(412, code, step) { attempt, _ in attempt.ifAbsent = true }) == "HEAD, final")
            }
        }
    }

    @Test(
        arguments: [
            (403, "AccessDenied", Int64(-1), "expired at 2025-11-13T02:13:19.000Z"), (403, nil, -1, "expired"),
            (403, "AccessDenied", 60, "not valid for this request"),
            (403, "AccessDenied", nil, "not valid for this request"),
            (403, "SignatureDoesNotMatch", 60, "not valid for this request"), (400, "ExpiredToken", 60, "not valid"),
            (401, nil, nil, "not valid"), (403, "InvalidAccessKeyId", -1, "expired"),
        ] as [(Int, String?, Int64?, String)])
    func `a refused presigned URL is final, and an expired one is named`(
        _ status: Int, _ code: String?, _ seconds: Int64?, _ text: String
    ) throws {
        let decision = decision(status, code, .put) { attempt, _ in
            attempt.authority = .presigned(expiry: seconds.map { Self.now + .seconds($0) })
        }
        let failure = try #require(failed(decision))
        #expect(failure.fault == .final && failure.reason.contains(text), "\(failure.reason)")
    }

    @Test func `the endpoint's own times decide whether a presigned URL has expired`() throws {
        let byClock = decision(403, "AccessDenied", .put) { attempt, refusal in
            attempt.authority = .presigned(expiry: Self.now + .seconds(60))
            refusal.serverTime = Self.now + .seconds(90)
        }
        let byBody = decision(403, "AccessDenied", .put) { attempt, refusal in
            attempt.authority = .presigned(expiry: nil)
            refusal.expires = Self.now - .seconds(1)
        }
        for decision in [byClock, byBody] {
            #expect(try #require(failed(decision)).reason.contains("expired"))
        }
        let skewed = decision(403, "RequestTimeTooSkewed", .put) { attempt, refusal in
            attempt.authority = .presigned(expiry: nil)
            refusal.serverTime = Self.now + .seconds(1000)
        }
        #expect(words(skewed) == "final")
    }

    @Test func `Retry-After is a minimum wait, and makes another 4xx charged`() {
        let slow = decision(503, "SlowDown") { _, refusal in refusal.retryAfter = "7" }
        #expect(failed(slow)?.retryAfter == .seconds(7))
        let other = decision(418, nil) { _, refusal in refusal.retryAfter = "7" }
        #expect(failed(other)?.fault == .command && failed(other)?.retryAfter == .seconds(7))
        #expect(failed(decision(418, nil) { _, refusal in refusal.retryAfter = "soon" })?.fault == .final)
    }

    @Test func `a success that cannot be read is charged, and ambiguous where it makes the object`() {
        for (step, isAmbiguous) in [(S3Step.complete, true), (.put, true), (.create, false), (.part(1), false)] {
            let failure = verdict.failure(unreadable: "without a body", status: 200, step)
            #expect(failure.fault == .command && failure.isAnswer && failure.ambiguous == isAmbiguous)
            #expect(failure.reason == "PUT https://s3.example.com/media/a, part 3 was answered 200 without a body")
        }
    }
}

extension Timestamp {
    fileprivate static func - (time: Timestamp, duration: Duration) -> Timestamp { time + (.zero - duration) }
}
