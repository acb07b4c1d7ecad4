internal import Commands
internal import Fetch
internal import Host
internal import Store

extension SluiceClient {
    /// Brings the stored response to a GET at once, and then the fresh one when it arrives (RFC 9111, RFC
    /// 5861): a sequence of at most two responses.
    ///
    /// The first needs no worker and no network. The second is the work of a command `fetch`, which waits while
    /// its server cannot be reached; a second call joins it. Ending the iteration leaves the command alone.
    /// A response for which `sluice.yaml` has a credential is not brought first, because a client does not
    /// read that file.
    /// - Parameters:
    ///   - url: http or https.
    ///   - headers: fields of the request. The default is none. Users with different secret fields have
    ///     different responses.
    ///   - mode: when the network is asked. The default is `both`.
    ///   - maxStale: no response that has been stale for longer is brought. Nil, the default: as the server
    ///     permits.
    ///   - options: of the command. Its unique key is that of the response. The default is their defaults.
    /// - Returns: the responses. The sequence throws ``SluiceError``: `usage` or `invalid` for a request that
    ///   is not valid, `failed` where there is no response and where the command has failed, and those of
    ///   ``submit(_:payload:options:)``; `CancellationError` where its task is cancelled.
    public func fetch(
        _ url: String, headers: [String: String] = [:], mode: FetchMode = .both, maxStale: Duration? = nil,
        options: SubmitOptions = SubmitOptions()
    ) -> AsyncThrowingStream<FetchedResponse, any Error> {
        var members: [JSONValue.Member] = [.init("url", .string(url)), .init("mode", .string(mode.rawValue))]
        if !headers.isEmpty {
            let fields = headers.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .string($0.value)) }
            members.append(.init("headers", .object(fields)))
        }
        if let maxStale { members.append(.init("maxStale", .integer(maxStale.components.seconds))) }
        let payload = JSONValue.object(members)
        return AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    try await fetch(payload, options) { continuation.yield($0) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    private func fetch(
        _ payload: JSONValue, _ options: SubmitOptions, _ show: (FetchedResponse) -> Void
    ) async throws {
        let (step, uniqueKey) = try await look(payload)
        var options = options
        (options.uniqueKey, options.uniqueFor) = (uniqueKey, .running)
        switch step {
        case .stored(let stored): show(try FetchedResponse(stored.result))
        case .refused(let sentence): throw SluiceError(.failed, sentence)
        case .storedThenRefresh(let stored):
            show(try FetchedResponse(stored.result))
            options.qos = .utility
            try await submit(Self.fetchType, payload: payload, options: options)
        case .ask(let first, _):
            if let first { show(try FetchedResponse(first.result)) }
            let id = try await submit(Self.fetchType, payload: payload, options: options)
            let outcome = try await wait(for: id)
            guard outcome.isSuccess else {
                throw SluiceError(.failed, outcome.reason ?? "the fetch \(outcome.status.clause)", id: id)
            }
            let result = (try? JSONValue(parsing: outcome.result ?? [])) ?? .null
            show(try FetchedResponse(result))
        }
    }

    private static let fetchType = "fetch"

    private func look(_ payload: JSONValue) async throws(SluiceError) -> (StoredFetch.Step, uniqueKey: String) {
        let directory = directory.cache
        return try await BlockingPool.shared.run { () throws(SluiceError) in
            do {
                return try StoredFetch.look(payload, in: directory)
            } catch let error as PayloadError {
                throw SluiceError(error)
            } catch {
                throw SluiceError(.failed, "\(error)")
            }
        }
    }
}
