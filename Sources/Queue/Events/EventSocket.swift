internal import Membership
internal import ZeroMQ

/// A socket that reads the frames of `events.sock`: a SUB socket on the loop that it was made on.
///
/// It connects when a coordinator starts, and again after each restart. When its reader is slow, up to
/// ``maxWaiting`` frames wait in this process and as many in the coordinator, which then drops the newest.
/// The reader sees a gap in `seq`, which the store can fill. A coordinator that ends takes its waiting frames
/// with it; the next one sends a snapshot.
struct EventSocket: ~Copyable {
    /// Frames that wait in this process: about 40 MB of status events.
    private static let maxWaiting: Int32 = 100_000

    private let socket: Socket

    /// Connects, and calls `onReadable` on the loop whenever frames may have arrived. Call it on the loop.
    init(
        _ endpoints: any OpenEndpoints, loop: PollLoop, onReadable: @escaping () -> Void
    ) throws(ZeroMQError) {
        var options = Socket.Options()
        options.reconnectInterval = .milliseconds(50)
        options.reconnectIntervalMaximum = .milliseconds(200)
        options.receiveHighWaterMark = Self.maxWaiting
        let socket = try endpoints.connect(.subscribe, to: .events, options: options, on: loop)
        loop.whenReadable(socket, onReadable)
        self.socket = socket
    }

    /// - Parameter prefix: of topics; the empty prefix is every topic.
    func subscribe(_ prefix: [UInt8]) throws(ZeroMQError) { try socket.subscribe(prefix) }

    /// Takes back one ``subscribe(_:)``: libzmq counts the subscriptions of a prefix.
    func unsubscribe(_ prefix: [UInt8]) { _ = try? socket.unsubscribe(prefix) }

    /// The next frame; nil where none has arrived.
    func next() -> [UInt8]? { (try? socket.receive { Array($0) }) ?? nil }

    /// Calls `body` for the frames that have arrived, and leaves the others for the loop's next round.
    /// - Parameter maxCount: frames of one round, so that a flood does not starve the loop's other work.
    func receive(maxCount: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        for _ in 0..<maxCount {
            guard (try? socket.receive(body)) != nil else { return }
        }
    }
}
