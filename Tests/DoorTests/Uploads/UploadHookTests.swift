import Commands
import Glibc
import HTTPClient
import HTTPTypes
import Store
import Synchronization
import TestSupport
import Testing
import Transfers
import Uploads

@testable import Door

struct UploadHookTests {
    /// Records the questions of the door.
    private final class Site: RequestHandler {
        private let questions = Mutex<[HandledRequest]>([])
        private let answer: Behaviour

        init(_ answer: Behaviour) { self.answer = answer }

        var asked: [HandledRequest] { questions.withLock { $0 } }

        func respond(to request: HandledRequest) -> Behaviour {
            questions.withLock { $0.append(request) }
            return answer
        }
    }

    private static func ask(
        _ answer: Behaviour, credential: Credential? = nil, timeout: Duration = .seconds(30),
        _ facts: UploadFacts = UploadFacts(origin: .tus), length: Int64? = nil
    ) async throws -> (result: Result<UploadDecision, UploadError>, asked: [HandledRequest]) {
        let server = try await ScriptedServer()
        let site = Site(answer)
        server.handle(by: site)
        let url = try ResourceURL("\(server.origin)/uploads/new?key=1")
        let hook = try #require(
            UploadHook(url, credential: credential, client: HTTPClientConfiguration(), timeout: timeout))
        let result: Result<UploadDecision, UploadError>
        do throws(UploadError) {
            result = .success(try await hook.decision(on: facts, length: length))
        } catch {
            result = .failure(error)
        }
        await server.stop()
        return (result, site.asked)
    }

    @Test func `the site is asked with the facts of the upload and the credential of its origin`() async throws {
        let directory = try TemporaryDirectory("hook")
        defer { directory.remove() }
        let file = try directory.file("secret", Array("open sesame\n".utf8))
        chmod(file, 0o600)
        var facts = UploadFacts(origin: .tus)
        (facts.route, facts.fileName, facts.tokenName) = ("archive", "a.mp4", "studio/cam")
        facts.metadata = "filename YS5tcDQ=,album c3VtbWVy"
        let (result, asked) = try await Self.ask(
            .answer(204), credential: .header(name: "X-Hook-Key", value: .file(file)), facts, length: 12)
        #expect(try result.get() == UploadDecision())
        let question = try #require(asked.first)
        #expect(asked.count == 1 && question.method == "POST" && question.target == "/uploads/new?key=1")
        #expect(question["x-hook-key"] == "open sesame" && question["content-type"] == "application/json")
        let body = try JSONValue(parsing: question.body)
        #expect(
            body == [
                "route": "archive", "name": "a.mp4", "length": 12,
                "metadata": ["album": "summer", "filename": "a.mp4"], "contentType": .null, "part": false,
                "token": "studio/cam",
            ], "\(body.text)")
    }

    @Test func `the site sets name, metadata and unique key`() async throws {
        let answer = Behaviour.answer(
            200, headers: ["Content-Type": "application/json"],
            body: #"{"name": "b.mp4", "metadata": {"user": "7"}, "uniqueKey": "order-7"}"#)
        let decision = try await Self.ask(answer).result.get()
        #expect(decision.fileName == "b.mp4" && decision.metadata == ["user": "7"])
        #expect(decision.uniqueKey == "order-7")
        let facts = decision.applied(to: UploadFacts(origin: .plain))
        #expect(facts.fileName == "b.mp4" && UploadFacts(facts.json) == facts)
        let route = RouteFacts(id: CommandID(), facts)
        #expect(route.metadata == ["user": "7"] && route.uniqueKey == "order-7")
        let stated = UploadFacts(origin: .plain)
        #expect(
            facts.statement.json
                == {
                    var facts = stated
                    facts.fileName = "b.mp4"
                    return facts
                }().json)
    }

    @Test func `a refusal has the detail of the site, in one line, and not its secret`() async throws {
        let directory = try TemporaryDirectory("hook")
        defer { directory.remove() }
        let file = try directory.file("secret", Array("open sesame".utf8))
        chmod(file, 0o600)
        let long = String(repeating: "x", count: 2000)
        let answer = Behaviour.answer(
            402, body: #"{"detail": "No credit\r\nleft for open sesame. \#(long)"}"#)
        let error = try await Self.ask(answer, credential: .bearer(.file(file))).result.error
        #expect(error?.code == .refused)
        #expect(error?.message.hasPrefix("No credit left for [redacted]. x") == true, "\(error?.message ?? "")")
        #expect(error.map { $0.message.count <= 301 && !$0.message.contains("\n") } == true)
        for body in ["", "no", "[]", #"{"detail": 7}"#] {
            let plain = try await Self.ask(.answer(404, body: body)).result.error
            #expect(plain?.code == .refused && plain?.message == "The site does not take this upload.")
        }
        let problem = UploadProblems.problem(UploadError(.refused, "No credit."))
        #expect(problem.status == .forbidden && problem.type == "upload-refused" && problem.detail == "No credit.")
    }

    @Test(arguments: [
        Behaviour.answer(500), .answer(503, headers: ["Retry-After": "9"]), .answer(429), .answer(408),
        .answer(302, headers: ["Location": "/elsewhere"]), .answer(200, body: "yes"), .answer(200, body: "[1]"),
        .answer(200, body: #"{"nmae": "b"}"#), .answer(200, body: #"{"name": 7}"#),
        .answer(200, body: #"{"name": ""}"#),
        .answer(200, body: #"{"name": "a\u0007b"}"#), .answer(200, body: #"{"metadata": {"a": 1}}"#),
        .answer(200, body: #"{"uniqueKey": ["a"]}"#),
        .answer(200, body: #"{"name": "\#(String(repeating: "x", count: 100_000))"}"#),
        .wrongLength(announced: 400, sent: 20), .reset(.body), .close(.head), .garbage,
    ])
    func `an answer that cannot be used is 503 to the client, and its cause is for the log`(
        answer: Behaviour
    ) async throws {
        let (result, asked) = try await Self.ask(answer)
        let error = try #require(result.error)
        #expect(error.code == .unavailable && error.message == UploadError.noDecision.message)
        let cause = try #require(error.cause)
        #expect(cause.contains("/uploads/new has") && !cause.contains("key=1"), "\(cause)")
        #expect(asked.count <= 1, "redirects are not followed, and nothing is asked twice")
        let problem = UploadProblems.problem(error)
        #expect(problem.status == .serviceUnavailable && problem.fields[.retryAfter] != nil)
    }

    @Test func `a site that does not answer in time is given up, and its connection reset`() async throws {
        let (result, asked) = try await Self.ask(.hang(.body), timeout: .milliseconds(200))
        #expect(result.error?.cause?.contains("has not answered within") == true, "\(result)")
        #expect(asked.count <= 1)
    }

    @Test func `a site that cannot be reached, or a secret that cannot be read, is not a refusal`() async throws {
        let port = try freePort()
        let url = try ResourceURL("http://127.0.0.1:\(port)/")
        let absent = try #require(UploadHook(url, credential: nil, client: HTTPClientConfiguration()))
        let refused = await #expect(throws: UploadError.self) {
            try await absent.decision(on: UploadFacts(origin: .plain), length: 1)
        }
        #expect(refused?.code == .unavailable && refused?.cause?.contains("has not decided: ") == true)
        let (result, asked) = try await Self.ask(.answer(200), credential: .bearer(.file("/nowhere/secret")))
        #expect(result.error?.code == .unavailable && asked.isEmpty)
        #expect(result.error?.cause?.contains("/nowhere/secret") == true)
    }
}

extension Result where Failure == UploadError {
    fileprivate var error: UploadError? { if case .failure(let error) = self { error } else { nil } }
}
