import CZeroMQ

/// A ZeroMQ socket, confined to the thread of the loop that it was made on.
///
/// Any call from another thread traps with a sentence. No call waits. One message is one frame. The value
/// owns the socket: when it goes, the socket closes (on the loop, wherever that happened).
///
/// `@unchecked Sendable`: it may be carried anywhere, because each call checks the thread.
package struct Socket: ~Copyable, @unchecked Sendable {
    package enum Kind: Sendable {
        /// Sends each message to one of the peers that have room.
        case push
        case pull
        /// Sends to every peer that has subscribed, and drops for those whose queue is full.
        case publish
        case subscribe
        /// As `publish`, and receives the subscriptions: a byte 1 (subscribe) or 0 (unsubscribe), then the
        /// prefix.
        case extendedPublish
    }

    /// Options of libzmq, set before bind and connect. There is no heartbeat: those of ZMTP abort the process
    /// in libzmq 4.3.4 when a receiver is behind (libzmq 3937, 4364).
    package struct Options: Sendable {
        /// Messages kept for each peer that does not read; 0: no bound. This many, and what the kernel
        /// buffers.
        package var sendHighWaterMark: Int32 = 1000
        /// Messages taken in before the peer is made to wait; 0: no bound. Other values lose the tail when an
        /// `ipc` peer closes (libzmq 4660), so leave 0 where loss matters and bound the sender instead.
        package var receiveHighWaterMark: Int32 = 0
        /// How long closing keeps trying to send the messages that are left, in whole milliseconds.
        package var linger: Duration = .zero
        /// Bytes. `send` refuses more; a peer that sends more is disconnected.
        package var maximumMessageSize: Int64 = 1 << 20
        /// Queue only for peers that are connected; without one, `send` returns false.
        package var immediate = false
        /// From a lost or refused connection to the next attempt.
        package var reconnectInterval: Duration = .milliseconds(50)
        /// The interval doubles up to this; zero: it stays.
        package var reconnectIntervalMaximum: Duration = .seconds(1)
        /// `extendedPublish` receives every subscription, not only the first of its prefix.
        package var verboseSubscriptions = false
        /// A connection that has not shaken hands by then is closed.
        package var handshakeInterval: Duration = .seconds(2)

        package init() {}
    }

    private let transport: any MessageTransport

    /// Throws where the process has no more sockets, or the context was terminated. Call it on the loop.
    package init(
        _ kind: Kind, context: Context, loop: PollLoop, options: Options = Options()
    ) throws(ZeroMQError) {
        loop.checkCurrent("a \(kind) socket is made on the loop that will own it")
        let core = try SocketCore(
            kind, context: context, loop: loop, maximumMessageSize: Int(clamping: options.maximumMessageSize))
        do throws(ZeroMQError) {
            try core.configure(options)
        } catch {
            core.close()
            throw error
        }
        transport = core
    }

    /// A socket of another network. Call it on the loop of the transport.
    package init(_ transport: any MessageTransport) {
        self.transport = transport
    }

    deinit {
        transport.abandon()
    }

    package var kind: Kind {
        transport.kind
    }

    /// Frames after the first of a message, which `receive` has thrown away.
    package var droppedFrames: Int {
        checked().droppedFrames
    }

    /// The endpoint of the last `bind` or `connect`, with the port that the system chose.
    package var lastEndpoint: String {
        checked().lastEndpoint
    }

    /// Makes the socket reachable. Replaces a socket file at the path, so hold a lock that says that no
    /// process uses it; anything else at that path is an error. The mode of the file follows the umask.
    package borrowing func bind(_ endpoint: SocketEndpoint) throws(ZeroMQError) {
        try checked().bind(endpoint)
    }

    /// Connects now or whenever the peer is there, and again after each loss.
    package borrowing func connect(_ endpoint: SocketEndpoint) throws(ZeroMQError) {
        try checked().connect(endpoint)
    }

    /// A `subscribe` socket receives the messages that begin with one of its prefixes; the empty one is all.
    package borrowing func subscribe(_ prefix: [UInt8] = []) throws(ZeroMQError) {
        try subscribe(prefix, isOn: true)
    }

    package borrowing func unsubscribe(_ prefix: [UInt8] = []) throws(ZeroMQError) {
        try subscribe(prefix, isOn: false)
    }

    private borrowing func subscribe(_ prefix: [UInt8], isOn: Bool) throws(ZeroMQError) {
        let transport = checked()
        try prefix.withUnsafeBufferPointer { prefix throws(ZeroMQError) in
            try transport.subscribe(UnsafeRawBufferPointer(prefix), isOn: isOn)
        }
    }

    /// Sends one message without waiting. The bytes are copied.
    ///
    /// - Returns: false where no peer has room, or none is there. True says that it is queued, no more.
    @discardableResult
    package borrowing func send(_ bytes: UnsafeRawBufferPointer) throws(ZeroMQError) -> Bool {
        let transport = checked()
        guard bytes.count <= transport.maximumMessageSize else {
            throw ZeroMQError(
                .messageTooLong,
                "a message may have \(transport.maximumMessageSize) bytes, this one has \(bytes.count): send less at once"
            )
        }
        return try transport.send(bytes)
    }

    /// As `send` of a buffer.
    @discardableResult
    package borrowing func send(_ bytes: [UInt8]) throws(ZeroMQError) -> Bool {
        try bytes.withUnsafeBufferPointer { bytes throws(ZeroMQError) in try send(UnsafeRawBufferPointer(bytes)) }
    }

    /// Takes the next message, if there is one, and hands its first frame to `body`; the bytes are gone
    /// afterwards.
    ///
    /// - Returns: the value of `body`; nil where there is nothing to receive.
    package borrowing func receive<R>(_ body: (UnsafeRawBufferPointer) -> R) throws(ZeroMQError) -> R? {
        var value: R?
        _ = try checked().receive { value = body($0) }
        return value
    }

    /// Closes now, on the loop, instead of where the value would go.
    package consuming func close() {
        checked().close()
    }

    /// The transport, for the loop.
    borrowing func checked() -> any MessageTransport {
        transport.loop.checkCurrent("a \(transport.kind) socket is used only on the loop that it was made on")
        return transport
    }
}

extension Socket.Kind {
    var type: CInt {
        switch self {
        case .push: ZMQ_PUSH
        case .pull: ZMQ_PULL
        case .publish: ZMQ_PUB
        case .subscribe: ZMQ_SUB
        case .extendedPublish: ZMQ_XPUB
        }
    }
}

extension Duration {
    /// Rounded up, so that a short time is not 0; at most the maximum of an option of libzmq.
    var wholeMilliseconds: CInt {
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return CInt(clamping: max(0, seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}
