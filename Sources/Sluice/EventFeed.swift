internal import Glibc
internal import Host
internal import Sluice
internal import Store
internal import ZeroMQ

/// Frames of `events.sock` as they come, unparsed: a hundred thousand a second are no rarity. Goes on when the coordinator
/// restarts.
///
/// Who takes frames too slowly, as before a pipe that nobody reads, has ``maxWaiting`` of them waiting in this process.
/// Then the coordinator keeps as many, and drops the newest beyond: the reader goes on with a gap in `seq`, which the
/// store can fill. A coordinator that ends meanwhile may take with it what it had kept; the next one sends a snapshot.
final class EventFeed: Sendable {
    /// Some 40 MB of status events.
    private static let maxWaiting: Int32 = 100_000

    let loop: PollLoop
    private let context: Context
    private let runDescriptor: CInt

    /// Subscribes and calls `body` on the feed's own thread for each frame.
    /// - Parameter prefixes: of topics; the empty one is everything.
    init(
        directory: DataDirectory, prefixes: [String], body: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) throws {
        do throws(SystemError) {
            runDescriptor = try openDirectory(directory.run.path)
        } catch {
            throw ExitError(.input, "\(error)")
        }
        context = try Context()
        loop = try PollLoop(name: "sluice-feed")
        let keeper = SocketKeeper()
        let endpoint = Endpoint.ipc(directoryDescriptor: runDescriptor, name: RunDirectory.Socket.events.name)
        loop.perform { [loop, context] in
            // Only where the process has no more descriptors; then it hears nothing and says so by showing nothing.
            guard
                let socket = try? Self.connect(
                    endpoint, prefixes: prefixes, context: context, loop: loop)
            else { return }
            loop.whenReadable(socket) {
                for _ in 0..<4096 {
                    guard (try? keeper.socket?.receive(body)) != nil else { return }
                }
            }
            keeper.socket = consume socket
        }
    }

    deinit {
        loop.stop()
        close(runDescriptor)
    }

    private static func connect(
        _ endpoint: Endpoint, prefixes: [String], context: Context, loop: PollLoop
    ) throws(ZeroMQError) -> Socket {
        var options = Socket.Options()
        options.reconnectIntervalMaximum = .milliseconds(200)
        options.receiveHighWaterMark = maxWaiting
        let socket = try Socket(.subscribe, context: context, loop: loop, options: options)
        for prefix in prefixes { try socket.subscribe(Array(prefix.utf8)) }
        try socket.connect(endpoint)
        return socket
    }
}
