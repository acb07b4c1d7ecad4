internal import CLinux
package import Commands
internal import Glibc
package import HTTPClient
package import Host
internal import Transfers

/// The stored answer to a fetch, without a worker and without the network.
package struct StoredFetch: Sendable {
    /// The next step of a reader.
    package enum Step: Sendable {
        /// The stored response is the answer.
        case stored(StoredFetch)
        /// It is the answer, and is refreshed later.
        case storedThenRefresh(StoredFetch)
        /// A command has to ask the origin.
        /// - first: the stored response to show meanwhile.
        /// - offline: the stored response that is the answer while the origin cannot be reached.
        case ask(first: StoredFetch?, offline: StoredFetch?)
        /// There is no answer: a sentence.
        case refused(String)
    }

    /// As the result of a command.
    package let result: JSONValue
    /// Since its origin made or confirmed it; nil: unknown.
    package let age: Duration?
    /// Why a stale response is shown; nil while it is fresh.
    package let staleBecause: String?
    /// The path of a body that the result does not have.
    package var bodyFile: String? { result["bodyFile"]?.string }

    /// Looks into the store of a data directory, for a client that knows no credentials.
    /// - Parameter directory: `<data>/cache`, which may be missing.
    package static func look(_ payload: JSONValue, in directory: String) throws -> (step: Step, uniqueKey: String) {
        let exists = access("\(directory)/index.sqlite", F_OK) == 0
        return try look(payload, CredentialStore(), in: exists ? try ResponseStore(directory: directory) : nil)
    }

    /// The body of a result. A file that may be read once is deleted. Blocks.
    /// - Throws: ``SystemError`` where its file cannot be read.
    package static func body(of result: JSONValue) throws(SystemError) -> [UInt8] {
        if let path = result["bodyFile"]?.string {
            let bytes = try contents(of: path) ?? []
            if result["bodyOnce"]?.bool == true { unlink(path) }
            return bytes
        }
        guard let text = result["body"]?.string else { return [] }
        return result["bodyEncoding"]?.string == "base64" ? Base64.decode(text.utf8) ?? [] : Array(text.utf8)
    }

    /// - Returns: nil where they are more than `limit`.
    static func contents(of path: String, upTo limit: Int = .max) throws(SystemError) -> [UInt8]? {
        let descriptor = clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SystemError("open", path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SystemError("read", path) }
            guard count > 0 else { return bytes }
            guard bytes.count + count <= limit else { return nil }
            bytes += buffer[..<count]
        }
    }

    /// Looks into the store.
    /// - Parameters:
    ///   - payload: of the fetch.
    ///   - credentials: of sluice.yaml, because they are part of the key.
    /// - Returns: the step, and the unique key of the command for it.
    /// - Throws: ``PayloadError``; ``ResponseStoreError``.
    package static func look(
        _ payload: JSONValue, _ credentials: CredentialStore, in store: ResponseStore?, now: Timestamp = .now
    ) throws -> (step: Step, uniqueKey: String) {
        let fetch = try FetchPayload(payload)
        var redirects = RedirectRules(fetch.url, method: "GET")
        var uniqueKey: String?
        while true {
            let headers = fetch.headers.filter { redirects.sends(field: $0.name) }
            let destination = redirects.credentialDestination
            let hasCredential = credentials[destination].map { credential in
                !headers.contains { $0.isNamed(credential.headerName.lowercased()) }
            }
            let request = fetch.request(
                for: redirects.url, headers, credential: hasCredential == true ? destination : nil)
            uniqueKey = uniqueKey ?? fetch.uniqueKey(of: request)
            let stored = try store.flatMap { try select(request, in: $0) }
            let decision = CacheRules().decision(for: request, stored: stored?.response, now: now).withoutErrors
            if let answer = decision.answer,
                case .follow = redirects.step(
                    status: answer.response.status, location: answer.response.headers.first("location"))
            {
                continue
            }
            let fallback = CacheRules().fallback(after: .offline, for: request, stored: stored?.response, now: now)
            return (step(decision, fallback, stored, redirects, now: now), uniqueKey ?? "")
        }
    }

    private static func select(_ request: FetchRequest, in store: ResponseStore) throws -> StoredBody? {
        let variants = try store.variants(url: request.url, partition: request.partition)
        guard let response = VariantChoice.select(variants.map(\.response), for: request.headers) else { return nil }
        return variants.first { $0.response.key == response.key && $0.isReadable }
    }

    private static func step(
        _ decision: FetchDecision, _ fallback: FetchFallback, _ stored: StoredBody?, _ redirects: RedirectRules,
        now: Timestamp
    ) -> Step {
        func shown(_ answer: StoredAnswer) -> StoredFetch {
            StoredFetch(answer, stored, redirects, now: now)
        }
        switch decision {
        case .stored(let answer): return .stored(shown(answer))
        case .storedThenRefresh(let answer, _): return .storedThenRefresh(shown(answer))
        case .ask(_, let first):
            if case .stored(let answer) = fallback, !answer.isError {
                return .ask(first: first.map(shown), offline: shown(answer))
            }
            return .ask(first: first.map(shown), offline: nil)
        case .refused(let refusal): return .refused(refusal.message(url: redirects.url.text))
        }
    }

    private init(_ answer: StoredAnswer, _ stored: StoredBody?, _ redirects: RedirectRules, now: Timestamp) {
        let result = FetchResult(answer, now: now)
        let url = redirects.hasRedirected ? redirects.url.displayText : nil
        let body = FetchBody(stored)
        let remark = PageRemark.text(result, headers: answer.response.headers, body)
        self.result = (try? JSONValue(parsing: body.json(result, url: url, remark: remark))) ?? .null
        age = result.age
        staleBecause = result.staleBecause?.rawValue
    }
}

extension FetchDecision {
    /// The stored answer, where there is one.
    fileprivate var answer: StoredAnswer? {
        switch self {
        case .stored(let answer), .storedThenRefresh(let answer, _): answer
        case .ask(_, let first): first
        case .refused: nil
        }
    }
}
