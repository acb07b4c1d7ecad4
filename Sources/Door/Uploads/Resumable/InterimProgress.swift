internal import Host
internal import Store
internal import Synchronization

/// Sends the durable offset of a long request in interim responses, at most once a second.
struct InterimProgress: Sendable {
    /// A client needs no more, and each is a packet.
    static let interval: Duration = .seconds(1)

    /// Sends one interim response.
    let send: @Sendable (Int64) async throws -> Void

    /// Runs a request. No interim response is sent after this returns: the final one may begin then.
    /// - Parameter body: gets a call that takes durable offsets, and does not block.
    func during(
        _ body: (@escaping @Sendable (Int64) -> Void) async throws -> Upload
    ) async throws -> Upload {
        let (offsets, source) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1))
        let last = Mutex(MonotonicTime.now)
        let sender = Task { [send] in
            for await offset in offsets {
                // A client that is gone ends the request as well.
                do { try await send(offset) } catch { return }
            }
        }
        let result: Result<Upload, any Error>
        do {
            let upload = try await body { offset in
                let isDue = last.withLock { last in
                    guard MonotonicTime.now - last >= Self.interval else { return false }
                    last = .now
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
