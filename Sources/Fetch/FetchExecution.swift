internal import Commands
internal import HTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import Operations
internal import Transfers

/// One execution of a fetch: a hop for each URL of the chain of redirects, each with its own stored response.
struct FetchExecution: Sendable {
    let payload: FetchPayload
    let execution: CommandExecution
    let transport: any RequestTransport
    let credentials: CredentialStore
    let evidence: DestinationEvidence
    let store: ResponseStoreAccess

    private let rules = CacheRules()

    /// The answer of one hop.
    struct Answer: Sendable {
        var result: FetchResult
        var body: FetchBody
        /// Of the response, also where they are withheld from the result.
        var headers: HeaderFields
    }

    init(
        payload: FetchPayload, execution: CommandExecution, transport: any RequestTransport,
        credentials: CredentialStore, evidence: DestinationEvidence, store: ResponseStoreAccess
    ) {
        self.payload = payload
        self.execution = execution
        self.transport = transport
        self.credentials = credentials
        self.evidence = evidence
        self.store = store
    }

    /// - Returns: the result.
    /// - Throws: ``CommandFailure``; `CancellationError`.
    func run() async throws -> [UInt8] {
        do {
            return try await followed()
        } catch let failure as CommandFailure {
            publish(FetchEvent.failed(url: payload.url.displayText, at: .now))
            throw failure
        }
    }

    private func publish(_ event: JSONValue) { execution.publish("response/\(execution.id)", event) }

    private func followed() async throws -> [UInt8] {
        var redirects = RedirectRules(payload.url, method: "GET")
        while true {
            let answer = try await hop(redirects)
            switch redirects.step(status: answer.result.status, location: answer.headers.first("location")) {
            case .follow: continue
            case .refused(let failure): throw failure
            case .none:
                let url = redirects.url.displayText
                publish(FetchEvent.body(answer.result, isFirst: false, url: url, at: .now))
                let remark = try await remark(on: answer)
                return answer.body.json(answer.result, url: redirects.hasRedirected ? url : nil, remark: remark)
            }
        }
    }

    private func remark(on answer: Answer) async throws -> String? {
        guard let path = answer.body.path else {
            return PageRemark.text(answer.result, headers: answer.headers, answer.body)
        }
        return try await BlockingIO.copies.run(at: path) {
            PageRemark.text(answer.result, headers: answer.headers, answer.body)
        }
    }

    private func hop(_ redirects: RedirectRules) async throws -> Answer {
        let headers = payload.headers.filter { redirects.sends(field: $0.name) }
        let credential = try await credentials.field(for: redirects.credentialDestination, unlessIn: headers)
        let sender = RequestSender(
            execution: execution, headers: headers, credential: credential, transport: transport, evidence: evidence,
            isConfined: false)
        let request = payload.request(
            for: redirects.url, headers, credential: credential == nil ? nil : redirects.credentialDestination)
        let stored = try await selected(for: request)
        switch rules.decision(for: request, stored: stored?.response, now: .now).withoutErrors {
        case .stored(let answer):
            return Answer(
                result: FetchResult(answer, now: .now), body: FetchBody(stored),
                headers: answer.response.headers)
        case .refused(let refusal): throw CommandFailure(.final, reason: refusal.message(url: request.url))
        case .storedThenRefresh(let answer, let question), .ask(let question, let answer?):
            publish(
                FetchEvent.body(
                    FetchResult(answer, now: .now), isFirst: true, url: redirects.url.displayText, at: .now))
            return try await ask(question, request, stored, sender, redirects.url)
        case .ask(let question, nil): return try await ask(question, request, stored, sender, redirects.url)
        }
    }

    private func selected(for request: FetchRequest) async throws -> StoredBody? {
        try await store.use { store in
            let variants = try store.variants(url: request.url, partition: request.partition)
            guard let response = VariantChoice.select(variants.map(\.response), for: request.headers),
                let body = variants.first(where: { $0.response.key == response.key }), body.isReadable
            else { return nil }
            try store.used(response.key, lastUse: response.usedAt, now: .now)
            return body
        }
    }

    // MARK: Asking

    private func ask(
        _ question: ConditionalRequest, _ request: FetchRequest, _ stored: StoredBody?, _ sender: RequestSender,
        _ url: ResourceURL
    ) async throws -> Answer {
        var question = question
        // A 304 that does not fit the stored response is followed by one request without conditions.
        for _ in 0..<2 {
            let exchange = try await send(question, sender, url)
            switch rules.outcome(of: exchange.facts, for: request, stored: stored?.response, now: .now) {
            case .askAgain(let next): question = next
            case .answered(let result, let change):
                return try await finish(exchange, result, change, stored)
            case .refused(let refusal, let change):
                try await apply(change, nil)
                throw exchange.failure ?? CommandFailure(.command, reason: refusal.message(url: request.url))
            }
        }
        throw CommandFailure(
            .command, reason: "GET \(url.displayText) was answered 304 without having been asked for a change")
    }

    private func send(
        _ question: ConditionalRequest, _ sender: RequestSender, _ url: ResourceURL
    ) async throws -> FetchReception {
        let body = ReceivedBody(path: store.partPath(execution.id, claim: execution.claim))
        let reception = FetchReception(question, body, url, maxBytes: payload.maxBody)
        var parts = RequestSender.Parts(.GET, url)
        parts.headers = question.fields.map { ($0.name, $0.value) } + [("Accept-Encoding", "identity")]
        (parts.needsAnswer, parts.decodesAnswer) = (true, true)
        parts.reader = { head, chunks in try await reception.read(head, chunks) }
        let record = await sender.send(parts)
        if let status = record.status { evidence.recordAnswer(status, to: execution.id, at: url.destination) }
        try await reception.take(record, execution.id, sender.failure(record, of: .GET, url))
        return reception
    }

    private func finish(
        _ exchange: FetchReception, _ result: FetchResult, _ change: StoreChange, _ stored: StoredBody?
    ) async throws -> Answer {
        let body = exchange.body
        var result = result
        if result.source == .network { result.decoded = exchange.decoded }
        let change = exchange.isBodyKept ? change : Self.withoutBody(change)
        try await apply(change, result.source == .network ? body : nil)
        // The response is the answer, and a failure, also where a 304 or the store brings it: 404, for example.
        if result.status >= 400 {
            throw exchange.failure
                ?? CommandFailure(.final, reason: "GET \(exchange.url.displayText) was answered \(result.status)")
        }
        guard result.source == .network else {
            return Answer(
                result: result, body: FetchBody(stored), headers: stored?.response.headers ?? HeaderFields())
        }
        return Answer(
            result: result, body: try await self.body(of: exchange, result, change),
            headers: exchange.facts.head.headers)
    }

    /// The body of a response that has just arrived. One that may not be stored is handed over in a file, which its
    /// reader deletes: `no-store` forbids to keep a response, not to use it (RFC 9111, section 5.2.2.5).
    private func body(
        of exchange: FetchReception, _ result: FetchResult, _ change: StoreChange
    ) async throws -> FetchBody {
        let body = exchange.body
        if exchange.isBodyKept, result.isWithheld || !body.isSmall, !change.isWrite, body.count > 0 {
            return .once(try await handOver(body))
        }
        var path: String?
        if case .write(let response, _) = change {
            path = try await store.use { $0.path(of: response.sha256) }
        }
        return FetchBody(received: body, path: path, isKept: exchange.isBodyKept)
    }

    private func handOver(_ body: ReceivedBody) async throws -> String {
        let path = store.handOverPath(execution.id, claim: execution.claim)
        return try await BlockingIO.copies.run(at: path) {
            do { try body.handOver(at: path) } catch {
                throw CommandFailure(
                    .command, reason: "cannot hand over a response: \(error.words)", retryAfter: .seconds(60))
            }
            return path
        }
    }

    /// The change by a response whose body is too long to keep.
    private static func withoutBody(_ change: StoreChange) -> StoreChange {
        guard case .write(let response, let replaced) = change else { return change }
        return [404, 410].contains(response.status) ? .remove(replaced ?? response.key) : .none
    }

    private func apply(_ change: StoreChange, _ body: ReceivedBody?) async throws {
        guard change != .none else { return }
        try await store.use { try $0.apply(change, body: body) }
    }
}
