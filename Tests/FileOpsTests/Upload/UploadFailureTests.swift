import Commands
import Foundation
import HTTPClient
import TestSupport
import Testing
import Transfers

/// The faults of failures, and whether a byte may have been delivered.
@Suite struct UploadFailureTests {
    private static func configuration(connectTimeout: Duration) -> HTTPConfiguration {
        var configuration = HTTPConfiguration()
        configuration.client.connectTimeout = connectTimeout
        return configuration
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var behaviour: Behaviour
        var fault: CommandFailure.Fault
        var ambiguous = false
        var retryAfter: Duration?
        var size = 1000

        var testDescription: String { "\(behaviour) of \(size) bytes" }
    }

    @Test(arguments: [
        Case(behaviour: .answer(400), fault: .final),
        Case(behaviour: .answer(403), fault: .final),
        Case(behaviour: .answer(404), fault: .final),
        Case(behaviour: .answer(409), fault: .final),
        Case(behaviour: .answer(413), fault: .final),
        Case(behaviour: .answer(422), fault: .final),
        Case(behaviour: .answer(401), fault: .credential),
        Case(behaviour: .answer(408), fault: .command),
        Case(behaviour: .answer(425), fault: .command),
        Case(behaviour: .answer(429), fault: .command),
        Case(behaviour: .answer(429, headers: ["Retry-After": "7"]), fault: .command, retryAfter: .seconds(7)),
        Case(
            behaviour: .answer(429, headers: ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"]), fault: .command,
            retryAfter: .zero),
        Case(
            behaviour: .answer(503, headers: ["Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"]), fault: .link,
            retryAfter: .seconds(86_400)),
        Case(behaviour: .answer(500), fault: .command),
        Case(behaviour: .answer(507), fault: .destination),
        Case(behaviour: .answer(503), fault: .link),
        Case(behaviour: .answer(502), fault: .command, ambiguous: true),
        Case(behaviour: .answer(504), fault: .command, ambiguous: true),
        Case(behaviour: .reset(.head), fault: .reset, ambiguous: true),
        Case(behaviour: .reset(.bytes(1_000_000)), fault: .reset, ambiguous: true, size: 20_000_000),
        Case(behaviour: .reset(.body), fault: .reset, ambiguous: true),
        Case(behaviour: .reset(.body), fault: .reset, ambiguous: true, size: 20_000_000),
        Case(behaviour: .close(.head), fault: .reset, ambiguous: true),
        Case(behaviour: .close(.bytes(1_000_000)), fault: .reset, ambiguous: true, size: 20_000_000),
        Case(behaviour: .close(.body), fault: .reset, ambiguous: true),
        Case(behaviour: .garbage, fault: .command, ambiguous: true),
        Case(behaviour: .answerEarly(413, closes: true), fault: .final, size: 20_000_000),
        Case(behaviour: .answerEarly(413, afterBytes: 1_000_000, closes: true), fault: .final, size: 20_000_000),
        Case(behaviour: .answerEarly(413, closes: false), fault: .final, size: 20_000_000),
        Case(behaviour: .answerEarly(403, body: "no", closes: true), fault: .final, size: 20_000_000),
        Case(behaviour: .answerEarly(503, closes: true), fault: .link, size: 20_000_000),
        Case(
            behaviour: .answerEarly(200, afterBytes: 1000, closes: true), fault: .command, ambiguous: true,
            size: 20_000_000),
    ])
    func `a failure has the fault and ambiguity of its cause`(_ example: Case) async throws {
        try await withReceiver { receiver, harness in
            receiver.on("/a", example.behaviour)
            let file = try harness.hollowFile(example.size)
            let failure = try await harness.failure(file: file, to: "\(receiver.origin)/a")
            #expect(failure.fault == example.fault, "\(failure.reason)")
            #expect(failure.ambiguous == example.ambiguous, "\(failure.reason)")
            #expect(failure.retryAfter == example.retryAfter)
            #expect(failure.reason.contains("127.0.0.1:\(receiver.port)"), "\(failure.reason)")
        }
    }

    @Test func `an upload is completed if the server reads on after an early success`() async throws {
        try await withReceiver { receiver, harness in
            receiver.on("/a", .answerEarly(200, closes: false))
            let file = try harness.hollowFile(20_000_000)
            let result = try await harness.upload(file: file, to: "\(receiver.origin)/a")
            #expect(result["status"]?.integer == 200)
            try await until("the whole body") { receiver.requests.first?.isWhole == true }
        }
    }

    @Test func `the reason quotes the start of a refusal in one line`() async throws {
        try await withReceiver { receiver, harness in
            receiver.on(
                "/a", .answer(422, body: "  the name\r\n\u{1B}[31mis taken\u{0}" + String(repeating: "x", count: 5000)))
            let file = try harness.directory.file("a", [1])
            let failure = try await harness.failure(file: file, to: "\(receiver.origin)/a?signature=hush")
            #expect(failure.reason.contains("422"))
            #expect(failure.reason.contains("the name [31mis taken"))
            #expect(failure.reason.utf8.count < 500)
            #expect(!failure.reason.unicodeScalars.contains { $0.value < 0x20 })
            #expect(!failure.reason.contains("hush"))
        }
    }

    @Test func `a refused connection is the link's failure`() async throws {
        let harness = try UploadHarness(configuration: Self.configuration(connectTimeout: .seconds(3600)))
        defer { harness.directory.remove() }
        let file = try harness.directory.file("a", [1])
        let began = ContinuousClock.now
        let failure = try await harness.failure(file: file, to: "http://127.0.0.1:\(try freePort())/a")
        #expect(failure.fault == .link)
        #expect(!failure.ambiguous)
        #expect(failure.reason.contains("refuses connections"))
        // At once, not after the connect timeout.
        #expect(ContinuousClock.now - began < .seconds(600))
    }

    @Test func `a connect timeout is the link's failure`() async throws {
        let harness = try UploadHarness(configuration: Self.configuration(connectTimeout: .milliseconds(200)))
        defer { harness.directory.remove() }
        let full = try FullListener()
        let file = try harness.directory.file("a", [1])
        let failure = try await harness.failure(file: file, to: "http://127.0.0.1:\(full.port)/a")
        #expect(failure.fault == .link)
        #expect(!failure.ambiguous)
        #expect(failure.reason.contains("within the connect timeout"), "\(failure.reason)")
    }

    @Test func `an upload that is stopped before the first byte is not ambiguous`() async throws {
        let harness = try UploadHarness(configuration: Self.configuration(connectTimeout: .seconds(3600)))
        defer { harness.directory.remove() }
        let full = try FullListener()
        let file = try harness.directory.file("a", [1])
        for url in ["http://127.0.0.1:\(full.port)/a", "file://\(harness.directory.path)/copy"] {
            let execution = try harness.execution(file: file, to: url, idempotent: false).execution
            let task = Task { try await harness.failure(of: execution) }
            task.cancel()
            let failure = try await task.value
            #expect(!failure.ambiguous && failure.reason.contains("stopped"), "\(failure.reason)")
        }
    }

    @Test func `an IPv6 literal is not resolved as a name`() async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        let file = try harness.directory.file("a", [1])
        // The connection is refused, or there is no route without IPv6. The literal is never resolved as a name.
        let failure = try await harness.failure(file: file, to: "http://[::1]:\(try freePort())/a")
        #expect(failure.fault == .link, "\(failure.reason)")
        #expect(failure.reason.contains("http://[::1]:"), "\(failure.reason)")
        #expect(!failure.reason.contains("resolved"), "\(failure.reason)")
    }

    @Test func `an unknown name is the link's failure`() async throws {
        let harness = try UploadHarness()
        defer { harness.directory.remove() }
        let file = try harness.directory.file("a", [1])
        let failure = try await harness.failure(file: file, to: "http://no-such-host.invalid/a")
        #expect(failure.fault == .link, "\(failure.reason)")
        #expect(!failure.ambiguous)
        #expect(failure.reason.contains("the name no-such-host.invalid cannot be resolved"), "\(failure.reason)")
    }

    @Test(arguments: [(Behaviour.hang(.head), 20_000_000), (.hang(.bytes(500_000)), 20_000_000)])
    func `an upload without progress fails as stalled`(_ behaviour: Behaviour, _ size: Int) async throws {
        try await withReceiver(idleTimeout: .milliseconds(300)) { receiver, harness in
            receiver.on("/a", behaviour)
            let file = try harness.hollowFile(size)
            let failure = try await harness.failure(file: file, to: "\(receiver.origin)/a")
            #expect(failure.fault == .link)
            #expect(failure.ambiguous)
            #expect(failure.reason.contains("stalled"))
            try await until("the end of the connection") { receiver.requests.first?.ended != nil }
        }
    }

    @Test func `a slow destination is given its response timeout, and a missing response is charged`()
        async throws
    {
        var configuration = HTTPConfiguration()
        configuration.responseTimeout = .milliseconds(1200)
        try await withReceiver(idleTimeout: .milliseconds(200), configuration: configuration) { receiver, harness in
            receiver.on("/a", .hang(.body))
            let file = try harness.directory.file("a", sample(1000))
            let began = ContinuousClock.now
            let failure = try await harness.failure(file: file, to: "\(receiver.origin)/a")
            #expect(
                ContinuousClock.now - began > .milliseconds(1000),
                "it was given up after \(ContinuousClock.now - began)")
            #expect(failure.fault == .command)
            #expect(failure.ambiguous)
            #expect(failure.reason.contains("did not answer in time"), "\(failure.reason)")
            #expect(receiver.requests.count == 1)
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `a slow peer does not count as dead`() async throws {
        var options = MisbehavingReceiver.Options()
        options.receiveBuffer = 16 << 10
        // Every chunk of half a megabyte takes longer than the idle timeout.
        try await withReceiver(options, idleTimeout: .seconds(2)) { receiver, harness in
            receiver.on("/a", .slow(bytesPerSecond: 200_000))
            let file = try harness.directory.file("a", sample(1_400_000))
            let result = try await harness.upload(file: file, to: "\(receiver.origin)/a")
            #expect(result["status"]?.integer == 201)
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect is not followed and gets no credential`(_ status: Int) async throws {
        let other = try await MisbehavingReceiver()
        let receiver = try await MisbehavingReceiver()
        let harness = try UploadHarness(token: "hush", to: receiver)
        defer { harness.directory.remove() }
        receiver.on("/a", .answer(status, headers: ["Location": "\(other.origin)/b?token=abc"]))
        let file = try harness.directory.file("a", [1])
        let failure = try await harness.failure(file: file, to: "\(receiver.origin)/a")
        #expect(failure.fault == .final)
        #expect(!failure.ambiguous)
        #expect(failure.reason.contains("\(other.origin)/b"))
        #expect(!failure.reason.contains("hush") && !failure.reason.contains("abc"))
        #expect(receiver.requests.map { $0["authorization"] } == ["Bearer hush"])
        #expect(other.connections == 0)
        await receiver.stop()
        await other.stop()
    }

    @Test func `a credential is sent to its origin only, and a header in the payload replaces it`() async throws {
        let receiver = try await MisbehavingReceiver()
        let other = try await MisbehavingReceiver()
        let harness = try UploadHarness(token: "hush", to: receiver)
        defer { harness.directory.remove() }
        let file = try harness.directory.file("a", [1])
        _ = try await harness.upload(file: file, to: "\(receiver.origin)/a")
        _ = try await harness.upload(file: file, to: "\(other.origin)/a")
        let own: JSONValue.Member = .init("headers", ["authorization": "Mine"])
        _ = try await harness.upload(file: file, to: "\(receiver.origin)/a", extra: [own])
        #expect(receiver.requests.map { $0["authorization"] } == ["Bearer hush", "Mine"])
        #expect(other.requests.map { $0["authorization"] } == [nil])
        chmod("\(harness.directory.path)/token", 0o644)
        let failure = try await harness.failure(file: file, to: "\(receiver.origin)/a")
        #expect(failure.fault == .credential)
        #expect(receiver.requests.count == 2)
        await receiver.stop()
        await other.stop()
    }

    @Test func `a self-signed certificate is not trusted`() async throws {
        var options = MisbehavingReceiver.Options()
        options.identity = .selfSigned
        try await withReceiver(options) { receiver, harness in
            let file = try harness.directory.file("a", [1])
            let failure = try await harness.failure(file: file, to: "\(receiver.origin)/a")
            #expect(failure.fault == .destination, "\(failure.reason)")
            #expect(!failure.ambiguous)
            #expect(failure.reason.contains("not trusted"))
            #expect(receiver.requests.isEmpty)
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `a configured certificate is trusted for its names only`() async throws {
        var options = MisbehavingReceiver.Options()
        options.identity = .selfSigned
        let directory = try TemporaryDirectory("trust")
        defer { directory.remove() }
        let roots = try directory.file("roots.pem", Array(TestIdentity.selfSigned.certificate.utf8))
        try await withReceiver(options, trustRoots: roots) { receiver, harness in
            let file = try harness.directory.file("a", sample(3_000_000))
            let result = try await harness.upload(file: file, to: "https://localhost:\(receiver.port)/a")
            #expect(result["status"]?.integer == 201)
            #expect(receiver.requests.first?.isWhole == true)
        }
        // The certificate names 127.0.0.1.
        options.host = "127.0.0.2"
        try await withReceiver(options, trustRoots: roots) { receiver, harness in
            let file = try harness.directory.file("a", [1])
            let failure = try await harness.failure(file: file, to: "https://127.0.0.2:\(receiver.port)/a")
            #expect(failure.fault == .destination, "\(failure.reason)")
            #expect(receiver.requests.isEmpty)
        }
    }

    @Test(.enabled(if: runsSlowTests, "slow"))
    func `HTTPS to a plain HTTP server is the link's failure`() async throws {
        try await withReceiver { receiver, harness in
            let file = try harness.directory.file("a", [1])
            let failure = try await harness.failure(file: file, to: "https://127.0.0.1:\(receiver.port)/a")
            #expect(failure.fault == .link, "\(failure.reason)")
            #expect(!failure.ambiguous)
        }
    }
}
