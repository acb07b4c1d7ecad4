package import Wire
package import ZeroMQ

/// Tells the coordinator to look at commands. A hint may be lost: it never blocks, and without a coordinator it costs
/// nothing. Confined to the loop that it was made on.
package struct HintSender: ~Copyable {
    private let socket: Socket
    private var sequence: Int64 = 0

    /// Connects now or whenever the coordinator is there. Call it on the loop.
    /// - Parameter linger: how long closing waits for hints to leave.
    package init(
        _ endpoint: Endpoint, context: Context, loop: PollLoop, linger: Duration = .milliseconds(100)
    ) throws(ZeroMQError) {
        var options = Socket.Options()
        options.linger = linger
        options.reconnectInterval = .milliseconds(20)
        let socket = try Socket(.push, context: context, loop: loop, options: options)
        try socket.connect(endpoint)
        self.socket = socket
    }

    /// Sends, or drops where the coordinator has not taken the last thousand.
    package mutating func send(_ message: Message) {
        sequence += 1
        let frame = message.encoded(FrameHead(epoch: 0, sequence: sequence))
        // A hint that cannot leave is made good by the coordinator's sweep.
        _ = try? socket.send(frame)
    }

    /// Sends one hint for each ``Hint/most`` ids.
    package mutating func send(_ kind: Hint.Kind, _ ids: [CommandID]) {
        if ids.count <= Hint.maxCount { return send(.hint(Hint(kind, ids))) }
        for start in stride(from: 0, to: ids.count, by: Hint.maxCount) {
            send(.hint(Hint(kind, Array(ids[start..<min(start + Hint.maxCount, ids.count)]))))
        }
    }
}
