internal import Host
package import Membership
internal import ZeroMQ

/// Frames of `events.sock`, unparsed, on a thread of the feed's own: a hundred thousand a second are common.
/// Goes on when the coordinator restarts; see ``EventSocket`` for a reader that is slow.
package actor EventFeed {
    private let loop: PollLoop
    private let endpoints: any OpenEndpoints
    private var socket: EventSocket?

    private static let maxFramesEachRound = 4096

    nonisolated package var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Subscribes, and calls `body` on the feed's thread for each frame.
    /// - Parameter prefixes: of topics; the empty prefix is every topic.
    /// - Throws: ``SluiceError``: `noStore` where the sockets cannot be reached, `tryAgain` without descriptors.
    package init(
        _ endpoints: any Endpoints, prefixes: [String], body: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) throws(SluiceError) {
        do throws(SystemError) { self.endpoints = try endpoints.open() } catch {
            throw SluiceError(.noStore, error.description)
        }
        do throws(ZeroMQError) {
            loop = try PollLoop(name: "sluice-feed")
        } catch {
            throw SluiceError(error)
        }
        loop.perform { self.assumeIsolated { $0.connect(prefixes, body) } }
    }

    deinit {
        loop.stop()
    }

    /// Ends the feed: `body` is called no more. A feed that is still referenced otherwise runs on.
    nonisolated package func close() { loop.stop() }

    private func connect(_ prefixes: [String], _ body: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
        let made = try? EventSocket(endpoints, loop: loop) { [weak self] in
            self?.assumeIsolated { $0.socket?.receive(maxCount: Self.maxFramesEachRound, body) }
        }
        // Fails only without descriptors; then the feed stays empty.
        guard let made else { return }
        for prefix in prefixes { _ = try? made.subscribe(Array(prefix.utf8)) }
        socket = consume made
    }
}
