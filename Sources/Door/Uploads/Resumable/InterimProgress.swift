internal import Commands
internal import Host
internal import Store
internal import Synchronization

/// Sends the durable offset of a long request in interim responses: after a second, and then ever less often. A client
/// that reads nothing before it has sent its body must not have its buffers filled.
struct InterimProgress: Sendable {
    private struct Pace {
        var last = MonotonicTime.now
        var interval = firstInterval
    }

    private static let firstInterval: Duration = .seconds(1)
    private static let maxInterval: Duration = .seconds(60)

    /// Sends one interim response.
    let send: @Sendable (Int64) async throws -> Void

    /// Runs a request. No interim response is sent after this returns: the final one may begin then.
    /// - Parameter body: gets a call that takes durable offsets, and does not block.
    func during(
        _ body: (@escaping @Sendable (Int64) -> Void) async throws -> Upload
    ) async throws -> Upload {
        let (offsets, source) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1))
        let pace = Mutex(Pace())
        let sender = Task { [send] in
            for await offset in offsets {
                // A client that is gone ends the request as well.
                do { try await send(offset) } catch { return }
            }
        }
        let result: Result<Upload, any Error>
        do {
            let upload = try await body { offset in
                let isDue = pace.withLock { pace in
                    let now = MonotonicTime.now
                    guard now - pace.last >= pace.interval else { return false }
                    pace = Pace(last: now, interval: min(pace.interval * 2, Self.maxInterval))
                    return true
                }
                if isDue { source.yield(offset) }
            }
            result = .success(upload)
        } catch {
            result = .failure(error)
        }
        source.finish()
        await sender.value
        return try result.get()
    }
}
