import Commands

@testable import Fetch
@testable import TestSupport
@testable import Transfers

/// Runs a ``CacheCase`` in a ``SimulatedCache``.
struct CacheCaseRunner {
    private let test: CacheCase
    private let cache: SimulatedCache
    /// The first answer of the origin, with its dates.
    private var firstReply = HeaderFields()

    /// - Returns: the first expectation that was not met, in words; nil where all were.
    static func run(_ test: CacheCase) -> String? {
        var runner = CacheCaseRunner(test)
        for index in test.steps.indices {
            if let problem = runner.run(index) { return "step \(index + 1): \(problem)" }
        }
        return nil
    }

    private init(_ test: CacheCase) {
        self.test = test
        cache = SimulatedCache(rules: CacheRules(isShared: test.isShared))
    }

    private mutating func run(_ index: Int) -> String? {
        let step = test.steps[index]
        let url = "http://origin.test/\(test.id)\(step.query)"
        let headers = Self.fields(step.request, cache.now)
        let reply = Self.fields(step.reply, cache.now)
        if index == 0 { firstReply = reply }
        let previous = index > 0 ? Self.fields(test.steps[index - 1].reply, cache.now) : HeaderFields()
        let before = cache.origin.requests.count
        cache.origin.script = [Self.answer(step, ResponseHead(status: step.status, headers: reply), test.id, previous)]
        if let interim = step.interim, let problem = storesInterim(interim, url) { return problem }
        let request = FetchRequest(
            url: url, partition: CachePartition.text(headers: headers), headers: headers, mode: step.mode)
        if step.method == "GET" {
            let transcript = cache.fetch(request)
            let asked = cache.origin.requests.dropFirst(before).first
            if let problem = check(step, transcript, asked) { return problem }
        } else {
            do { try cache.send(step.method, url) } catch { return "\(error)" }
        }
        if step.waits { cache.wait(.seconds(3)) }
        return nil
    }

    /// The origin's answer in this step. Where a condition is expected, it answers 304 to the right one, and
    /// an error to any other request.
    private static func answer(
        _ step: CacheCase.Step, _ head: ResponseHead, _ body: String, _ previous: HeaderFields
    ) -> (ScriptedOrigin.Request, Timestamp) -> ScriptedOrigin.Answer {
        let isValidated = step.expected.contains { if case .validated = $0 { true } else { false } }
        return { request, _ in
            if step.isCut { return .failure(.disconnected) }
            guard isValidated else { return .response(.init(head: head, body: step.body ?? body)) }
            let status = meets(request, previous) ? 304 : 999
            return .response(.init(head: ResponseHead(status: status, headers: head.headers), body: ""))
        }
    }

    private static func meets(_ request: ScriptedOrigin.Request, _ previous: HeaderFields) -> Bool {
        ["etag": "if-none-match", "last-modified": "if-modified-since"].contains { validator, condition in
            previous.first(validator).map { $0 == request.headers.first(condition) } ?? false
        }
    }

    private func storesInterim(_ interim: (status: Int, fields: String), _ url: String) -> String? {
        let exchange = FetchExchange(
            asked: .unconditional, requestedAt: cache.now, respondedAt: cache.now,
            head: ResponseHead(status: interim.status, headers: Self.fields(interim.fields, cache.now)))
        let objection = cache.rules.objection(to: exchange, for: FetchRequest(url: url))
        return objection == nil ? "the interim response may be stored" : nil
    }

    /// `Name: value | Name: value`
    private static func fields(_ text: String, _ now: Timestamp) -> HeaderFields {
        HeaderFields(
            text.split(separator: " | ").map { field in
                let colon = field.firstIndex(of: ":") ?? field.endIndex
                let value = field[colon...].dropFirst().drop { $0 == " " }
                guard value.first == "@", let seconds = Int64(value.dropFirst()) else {
                    return HTTPField(String(field[..<colon]), String(value))
                }
                return HTTPField(String(field[..<colon]), HTTPDateText.fixed(now + .seconds(seconds)))
            })
    }

    // MARK: Expectations

    private func check(
        _ step: CacheCase.Step, _ transcript: SimulatedCache.Transcript, _ asked: ScriptedOrigin.Request?
    ) -> String? {
        // A response that is shown before its origin was asked must be permitted.
        if let first = transcript.first, Self.forbidsFirst(first) { return "an answer was shown that is forbidden" }
        if step.expected.contains(.unanswered) {
            return transcript.answer == nil && transcript.first == nil ? nil : "there is an answer"
        }
        guard let answer = transcript.answer else { return "there is no answer: \(String(describing: transcript))" }
        guard answer.status == step.status else { return "the status is \(answer.status), not \(step.status)" }
        let expectedBody = step.body ?? test.id
        guard transcript.body == expectedBody else { return "the body is \(transcript.body ?? "missing")" }
        return step.expected.lazy.compactMap { problem($0, answer, asked) }.first
    }

    private static func forbidsFirst(_ result: FetchResult) -> Bool {
        let control = CacheControl(result.headers)
        return control.isNoCache || control.mustRevalidate && result.isStale || VaryNames(result.headers) == .any
    }

    private func problem(
        _ expected: CacheCase.Expectation, _ answer: FetchResult, _ asked: ScriptedOrigin.Request?
    ) -> String? {
        let isMet =
            switch expected {
            case .stored: answer.source == .stored
            case .asked: answer.source == .network
            case .validated(let condition):
                answer.source == .notModified && asked?.headers.contains(condition) == true
            case .unanswered: false
            case .has(let name, let value): answer.headers.first(name) == value
            case .hasMore(let name, let least): answer.headers.first(name).flatMap { Int($0) } ?? -1 > least
            case .unchanged(let name): answer.headers.first(name) == firstReply.first(name)
            case .lacks(let name): !answer.headers.contains(name)
            case .sent(let name, let value): asked?.headers.first(name) == value
            }
        return isMet ? nil : "expected \(expected), got \(answer.source) with \(answer.headers.fields)"
    }
}
