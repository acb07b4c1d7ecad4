import Commands
import Testing

@testable import Fetch
@testable import Transfers

/// A `fetch` operation without network and database: rows in memory, a scripted origin, a clock that moves by
/// hand. It carries out the decisions of ``CacheRules`` as the real one must.
final class SimulatedCache {
    /// The answers to one fetch, in their order.
    struct Transcript {
        /// Shown before the request.
        var first: FetchResult?
        var answer: FetchResult?
        var refusal: FetchRefusal?
        /// The body of the answer.
        var body: String?
        /// Whether a refresh at a lower quality of service followed.
        var isRefreshedLater = false
    }

    var rules: CacheRules
    var origin: ScriptedOrigin
    /// 2026-01-02T00:00:00Z.
    var now = Timestamp(milliseconds: 1_767_312_000_000)
    /// From the request to the head of the response.
    var delay: Duration = .zero
    private(set) var rows: [StoredResponse] = []
    private var bodies: [String: String] = [:]

    init(rules: CacheRules = CacheRules(), origin: ScriptedOrigin = ScriptedOrigin()) {
        self.rules = rules
        self.origin = origin
    }

    func wait(_ duration: Duration) { now = now + duration }

    func fetch(_ request: FetchRequest) -> Transcript {
        let stored = selected(request)
        var transcript = Transcript()
        switch rules.decision(for: request, stored: stored, now: now) {
        case .stored(let answer): show(answer, in: &transcript)
        case .storedThenRefresh(let answer, let question):
            show(answer, in: &transcript)
            transcript.isRefreshedLater = true
            var refresh = Transcript()
            ask(question, request, stored, &refresh)
        case .ask(let question, let first):
            transcript.first = first.map { FetchResult($0, now: now) }
            ask(question, request, stored, &transcript)
        case .refused(let refusal): transcript.refusal = refusal
        }
        return transcript
    }

    /// Sends a request of another method, as `request` and `upload` do.
    func send(_ method: String, _ url: String, headers: HeaderFields = HeaderFields()) throws {
        guard case .response(let response) = origin.answer(method, url, headers, now) else { return }
        let urls = CacheInvalidation.urls(method: method, url: try ResourceURL(url), response: response.head)
        rows = rows.map { urls.contains($0.key.url) ? $0.invalidated(at: now) : $0 }
    }

    private func selected(_ request: FetchRequest) -> StoredResponse? {
        let variants = rows.filter { $0.key.url == request.url && $0.key.partition == request.partition }
        return VariantChoice.select(variants, for: request.headers)
    }

    private func show(_ answer: StoredAnswer, in transcript: inout Transcript) {
        transcript.answer = FetchResult(answer, now: now)
        transcript.body = bodies[answer.response.sha256]
    }

    private func ask(
        _ question: ConditionalRequest, _ request: FetchRequest, _ stored: StoredResponse?,
        _ transcript: inout Transcript
    ) {
        let requestedAt = now
        switch origin.answer("GET", request.url, request.headers.appending(question.fields), now) {
        case .failure(let failure):
            switch rules.fallback(after: failure, for: request, stored: stored, now: now) {
            case .stored(let answer): show(answer, in: &transcript)
            case .refused(let refusal): transcript.refusal = refusal
            }
        case .response(let response):
            now = now + delay
            let digest = "digest of \(response.body)"
            let exchange = FetchExchange(
                asked: question, requestedAt: requestedAt, respondedAt: now, head: response.head,
                isComplete: response.isComplete, bytes: Int64(response.body.utf8.count), sha256: digest)
            switch rules.outcome(of: exchange, for: request, stored: stored, now: now) {
            case .answered(let result, let change):
                bodies[digest] = response.body
                carryOut(change)
                transcript.answer = result
                transcript.body = result.source == .network ? response.body : bodies[result.sha256]
            case .askAgain(let next): ask(next, request, stored, &transcript)
            case .refused(let refusal, let change):
                carryOut(change)
                transcript.refusal = refusal
            }
        }
    }

    private func carryOut(_ change: StoreChange) {
        switch change {
        case .none: break
        case .remove(let key): rows.removeAll { $0.key == key }
        case .write(let row, let replaced):
            rows.removeAll { $0.key == row.key || $0.key == replaced }
            rows.append(row)
        }
    }
}
