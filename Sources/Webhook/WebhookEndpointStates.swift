internal import Commands
internal import HTTPClient
internal import Host
package import Operations
internal import Settings
internal import Synchronization
internal import Transfers

/// How the receivers of the endpoints have answered: settings that all workers share.
///
/// A worker reads the setting of an endpoint at most once a second, and again before it holds a message back.
/// It writes the first success after failures, and else one success a minute and the failures of a second
/// together. So an endpoint costs few commits, and a killed worker loses at most a second of the count.
package final class WebhookEndpointStates: Sendable {
    private struct Known {
        var state = WebhookEndpointState()
        var readAt: MonotonicTime?
        var failuresWrittenAt: MonotonicTime?
        var successWrittenAt: MonotonicTime?
        /// Failures since the last write.
        var unwritten = 0
    }

    /// How old the state may be by which a message is sent.
    private static let maxAge: Duration = .seconds(1)
    private static let failureInterval: Duration = .seconds(1)
    private static let successInterval: Duration = .seconds(60)
    /// How long another process may hold the write lock. A message does not wait longer for a count.
    private static let timeout: Duration = .seconds(1)

    private let settings: any SharedSettings
    private let known = Mutex<[String: Known]>([:])

    package init(_ settings: any SharedSettings) { self.settings = settings }

    /// The state of an endpoint by which its next message is sent or held back.
    ///
    /// An endpoint whose setting cannot be read counts as it did before: its receiver decides.
    /// - Throws: `CancellationError`.
    func state(of endpoint: WebhookEndpoint, for url: String) async throws -> WebhookEndpointState {
        let now = MonotonicTime.now
        let cached = known.withLock { $0[endpoint.name] } ?? Known()
        // A person may have resumed it since.
        if cached.state.permits(url), let readAt = cached.readAt, now - readAt < Self.maxAge { return cached.state }
        let state = try await read(endpoint) ?? cached.state
        known.withLock { known in
            known[endpoint.name, default: Known()].state = state
            known[endpoint.name]?.readAt = now
        }
        return state
    }

    private func read(_ endpoint: WebhookEndpoint) async throws -> WebhookEndpointState? {
        let (settings, key) = (settings, WebhookEndpointSetting.key(endpoint.name))
        do {
            return try await BlockingIO.sources.run {
                let value = try settings.value(of: key)
                return WebhookEndpointSetting(name: endpoint.name, value: value)?.state ?? WebhookEndpointState()
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return nil
        }
    }

    /// The receiver has accepted a message.
    func succeeded(at endpoint: WebhookEndpoint) async {
        let now = MonotonicTime.now
        let isDue = known.withLock { known in
            var entry = known[endpoint.name] ?? Known()
            defer { known[endpoint.name] = entry }
            let isRecent = entry.successWrittenAt.map { now - $0 < Self.successInterval } ?? false
            guard !isRecent || entry.state.failures > 0 || entry.unwritten > 0 else { return false }
            (entry.successWrittenAt, entry.failuresWrittenAt, entry.unwritten) = (now, nil, 0)
            return true
        }
        guard isDue else { return }
        await change(endpoint) { [settings] in $0.succeeded(now: settings.now) }
    }

    /// An attempt has failed.
    /// - Parameter status: of the response; nil where none came.
    /// - Returns: the pause that it causes, of the endpoint or of the URL; nil for none.
    func failed(_ failure: CommandFailure, status: Int?, at endpoint: WebhookEndpoint, _ url: ResourceURL) async
        -> WebhookEndpointState.Pause?
    {
        if status == 410 {
            let (url, shown) = (url.text, url.displayText)
            return Self.pause(
                await change(endpoint) { [settings] in
                    $0.answeredGone(url, shown: shown, now: settings.now)
                })
        }
        guard WebhookEndpointState.counts(failure.fault) else { return nil }
        let now = MonotonicTime.now
        let count = known.withLock { known -> Int? in
            var entry = known[endpoint.name] ?? Known()
            defer { known[endpoint.name] = entry }
            entry.unwritten += 1
            let isRecent = entry.failuresWrittenAt.map { now - $0 < Self.failureInterval } ?? false
            guard !isRecent else { return nil }
            defer { entry.unwritten = 0 }
            entry.failuresWrittenAt = now
            return entry.unwritten
        }
        guard let count else { return nil }
        return Self.pause(
            await change(endpoint) { [settings] in
                $0.failed(failure.fault, count: count, now: settings.now)
            })
    }

    private static func pause(_ action: WebhookEndpointState.Action?) -> WebhookEndpointState.Pause? {
        if case .report(let pause)? = action { pause } else { nil }
    }

    /// Changes the setting. The outcome of a delivery does not depend on it: where the setting cannot be
    /// written, the next success, failure or 410 writes it.
    @discardableResult
    private func change<Value: Sendable>(
        _ endpoint: WebhookEndpoint, _ body: @escaping @Sendable (inout WebhookEndpointState) -> Value
    ) async -> Value? {
        let settings = settings
        let changed: (WebhookEndpointState, Value)? = try? await BlockingIO.sources.run {
            var result: (WebhookEndpointState, Value)?
            try settings.change(WebhookEndpointSetting.key(endpoint.name), timeout: Self.timeout) { value in
                var setting =
                    WebhookEndpointSetting(name: endpoint.name, value: value)
                    ?? WebhookEndpointSetting(name: endpoint.name, origin: endpoint.origin)
                setting.origin = endpoint.origin
                let outcome = body(&setting.state)
                result = (setting.state, outcome)
                return setting.value
            }
            return result
        }
        guard let (state, value) = changed else { return nil }
        known.withLock { known in
            known[endpoint.name, default: Known()].state = state
            known[endpoint.name]?.readAt = .now
        }
        return value
    }
}
