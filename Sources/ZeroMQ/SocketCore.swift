import CZeroMQ

/// The state that a `Socket` and the loop that polls it share.
///
/// `@unchecked Sendable`: members change only on the loop's thread, which `Socket` checks at each call. The
/// exception is `abandon`, which runs when nothing else refers to the socket any more.
final class SocketCore: @unchecked Sendable {
    let handle: UnsafeMutableRawPointer
    let loop: PollLoop
    let kind: Socket.Kind
    let maximumMessageSize: Int
    private let context: Context
    var isClosed = false
    /// There may be something to receive that the edge of the socket's descriptor no longer announces: any
    /// call may have consumed it. The loop asks again before it sleeps.
    var mayBeReadable = true
    var droppedFrames = 0
    var dice: FaultInjection.Dice?

    init(_ kind: Socket.Kind, context: Context, loop: PollLoop, maximumMessageSize: Int) throws(ZeroMQError) {
        let made = try context.makeSocket(kind.type)
        handle = made.handle
        dice = made.dice
        self.kind = kind
        self.context = context
        self.loop = loop
        self.maximumMessageSize = maximumMessageSize
    }

    func configure(_ options: Socket.Options) throws(ZeroMQError) {
        try set(ZMQ_SNDHWM, options.sendHighWaterMark)
        try set(ZMQ_RCVHWM, options.receiveHighWaterMark)
        try set(ZMQ_LINGER, options.linger.wholeMilliseconds)
        try set(ZMQ_MAXMSGSIZE, options.maximumMessageSize)
        try set(ZMQ_IMMEDIATE, options.immediate ? CInt(1) : 0)
        try set(ZMQ_RECONNECT_IVL, options.reconnectInterval.wholeMilliseconds)
        try set(ZMQ_RECONNECT_IVL_MAX, options.reconnectIntervalMaximum.wholeMilliseconds)
        try set(ZMQ_HANDSHAKE_IVL, options.handshakeInterval.wholeMilliseconds)
        if kind == .extendedPublish, options.verboseSubscriptions {
            try set(ZMQ_XPUB_VERBOSE, CInt(1))
        }
    }

    func bind(_ endpoint: Endpoint) throws(ZeroMQError) {
        try endpoint.checkLength()
        try endpoint.checkReplaceable()
        mayBeReadable = true
        guard zmq_bind(handle, endpoint.address) == 0 else { throw .last("bind", endpoint: endpoint) }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        loop.forget(self)
        zmq_close(handle)
    }

    /// The owner is gone; its last reference may have been on any thread.
    func abandon() {
        if isClosed { return }
        if loop.isCurrent {
            close()
        } else {
            loop.perform { self.close() }
        }
    }

    func set(_ option: CInt, _ value: CInt) throws(ZeroMQError) {
        try withUnsafeBytes(of: value) { bytes throws(ZeroMQError) in try set(option, bytes: bytes) }
    }

    func set(_ option: CInt, _ value: Int64) throws(ZeroMQError) {
        try withUnsafeBytes(of: value) { bytes throws(ZeroMQError) in try set(option, bytes: bytes) }
    }

    func set(_ option: CInt, bytes: UnsafeRawBufferPointer) throws(ZeroMQError) {
        guard zmq_setsockopt(handle, option, bytes.baseAddress, bytes.count) == 0 else {
            throw .last("set option \(option) of a \(kind) socket")
        }
    }

    /// The descriptor that announces, by an edge, that something about the socket has changed.
    func descriptor() -> CInt {
        var descriptor: CInt = -1
        var size = MemoryLayout<CInt>.size
        zmq_getsockopt(handle, ZMQ_FD, &descriptor, &size)
        return descriptor
    }
}
