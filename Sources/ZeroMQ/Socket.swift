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

    private let core: SocketCore

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
        self.core = core
    }

    deinit {
        core.abandon()
    }

    package var kind: Kind {
        core.kind
    }

    /// Frames after the first of a message, which `receive` has thrown away.
    package var droppedFrames: Int {
        checked().droppedFrames
    }

    /// The endpoint of the last `bind` or `connect`, with the port that the system chose.
    package var lastEndpoint: String {
        var buffer = [CChar](repeating: 0, count: 256)
        var size = buffer.count
        guard zmq_getsockopt(checked().handle, ZMQ_LAST_ENDPOINT, &buffer, &size) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Makes the socket reachable. Replaces a socket file at the path, so hold a lock that says that no
    /// process uses it; anything else at that path is an error. The mode of the file follows the umask.
    package borrowing func bind(_ endpoint: Endpoint) throws(ZeroMQError) {
        try checked().bind(endpoint)
    }

    /// Connects now or whenever the peer is there, and again after each loss.
    package borrowing func connect(_ endpoint: Endpoint) throws(ZeroMQError) {
        let core = checked()
        try endpoint.checkLength()
        core.mayBeReadable = true
        guard zmq_connect(core.handle, endpoint.address) == 0 else { throw .last("connect to", endpoint: endpoint) }
    }

    /// A `subscribe` socket receives the messages that begin with one of its prefixes; the empty one is all.
    package borrowing func subscribe(_ prefix: [UInt8] = []) throws(ZeroMQError) {
        let core = checked()
        core.mayBeReadable = true
        try prefix.withUnsafeBufferPointer { prefix throws(ZeroMQError) in
            try core.set(ZMQ_SUBSCRIBE, bytes: UnsafeRawBufferPointer(prefix))
        }
    }

    package borrowing func unsubscribe(_ prefix: [UInt8] = []) throws(ZeroMQError) {
        let core = checked()
        core.mayBeReadable = true
        try prefix.withUnsafeBufferPointer { prefix throws(ZeroMQError) in
            try core.set(ZMQ_UNSUBSCRIBE, bytes: UnsafeRawBufferPointer(prefix))
        }
    }

    /// Sends one message without waiting. The bytes are copied.
    ///
    /// - Returns: false where no peer has room, or none is there. True says that it is queued, no more.
    @discardableResult
    package borrowing func send(_ bytes: UnsafeRawBufferPointer) throws(ZeroMQError) -> Bool {
        let core = checked()
        guard bytes.count <= core.maximumMessageSize else {
            throw ZeroMQError(
                .messageTooLong,
                "a message may have \(core.maximumMessageSize) bytes, this one has \(bytes.count): send less at once")
        }
        if core.dice != nil, core.dice?.drops() == true { return true }
        core.mayBeReadable = true
        while true {
            if zmq_send(core.handle, bytes.baseAddress, bytes.count, ZMQ_DONTWAIT) >= 0 { return true }
            switch zmq_errno() {
            case EAGAIN: return false
            case EINTR: continue
            default: throw .last("send on a \(core.kind) socket")
            }
        }
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
        let core = checked()
        var message = zmq_msg_t()
        zmq_msg_init(&message)
        defer { zmq_msg_close(&message) }
        while zmq_msg_recv(&message, core.handle, ZMQ_DONTWAIT) < 0 {
            switch zmq_errno() {
            case EAGAIN:
                core.mayBeReadable = false
                return nil
            case EINTR: continue
            default:
                let error = ZeroMQError.last("receive on a \(core.kind) socket")
                // Asking again would fail again.
                core.mayBeReadable = false
                throw error
            }
        }
        core.mayBeReadable = true
        if zmq_msg_more(&message) != 0 { dropRest(core) }
        return body(UnsafeRawBufferPointer(start: zmq_msg_data(&message), count: zmq_msg_size(&message)))
    }

    /// Closes now, on the loop, instead of where the value would go.
    package consuming func close() {
        checked().close()
    }

    /// libzmq delivers the frames of a message together, so that nothing here has to wait.
    private borrowing func dropRest(_ core: SocketCore) {
        var frame = zmq_msg_t()
        zmq_msg_init(&frame)
        defer { zmq_msg_close(&frame) }
        repeat {
            guard zmq_msg_recv(&frame, core.handle, ZMQ_DONTWAIT) >= 0 else { return }
            core.droppedFrames += 1
        } while zmq_msg_more(&frame) != 0
    }

    /// The core, for the loop.
    borrowing func checked() -> SocketCore {
        core.loop.checkCurrent("a \(core.kind) socket is used only on the loop that it was made on")
        return core
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
