import CZeroMQ

/// The way of the messages of a ``Socket``: a socket of libzmq, or the queues of a network that a test makes.
///
/// Its members are called on the thread of its loop; `abandon` on any thread. No call waits.
package protocol MessageTransport: AnyObject, Sendable {
    var kind: Socket.Kind { get }
    var loop: PollLoop { get }
    var isClosed: Bool { get }
    /// It is readable when something about the transport has changed, and may announce that only once. The loop waits for it.
    var descriptor: CInt { get }
    /// There may be something to receive that ``descriptor`` no longer announces. The loop asks again before it sleeps.
    var mayBeReadable: Bool { get set }
    /// Bytes. ``Socket/send(_:)-(UnsafeRawBufferPointer)`` refuses more.
    var maximumMessageSize: Int { get }
    /// Frames after the first of a message, which were thrown away.
    var droppedFrames: Int { get }
    /// The endpoint of the last `bind` or `connect`, with the port that the system chose.
    var lastEndpoint: String { get }

    /// As ``Socket/bind(_:)``.
    func bind(_ endpoint: SocketEndpoint) throws(ZeroMQError)
    /// As ``Socket/connect(_:)``.
    func connect(_ endpoint: SocketEndpoint) throws(ZeroMQError)
    /// - Parameter isOn: false takes back one subscription of the prefix.
    func subscribe(_ prefix: UnsafeRawBufferPointer, isOn: Bool) throws(ZeroMQError)
    /// - Returns: false where no peer has room, or none is there.
    func send(_ bytes: UnsafeRawBufferPointer) throws(ZeroMQError) -> Bool
    /// - Returns: false where there is nothing to receive; `body` was not called then.
    func receive(_ body: (UnsafeRawBufferPointer) -> Void) throws(ZeroMQError) -> Bool
    /// Closing twice does nothing.
    func close()
    /// The owner is gone: closes on the loop.
    func abandon()
}

/// A socket of libzmq.
///
/// `@unchecked Sendable`: members change only on the loop's thread, which `Socket` checks at each call. The
/// exception is `abandon`, which runs when nothing else refers to the socket any more.
final class SocketCore: MessageTransport, @unchecked Sendable {
    private let handle: UnsafeMutableRawPointer
    let loop: PollLoop
    let kind: Socket.Kind
    let maximumMessageSize: Int
    private let context: Context
    private(set) var isClosed = false
    /// Any call may have consumed the edge of the descriptor.
    var mayBeReadable = true
    private(set) var droppedFrames = 0
    private var dice: FaultInjection.Dice?

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

    func bind(_ endpoint: SocketEndpoint) throws(ZeroMQError) {
        try endpoint.checkLength()
        try endpoint.checkReplaceable()
        mayBeReadable = true
        guard zmq_bind(handle, endpoint.address) == 0 else { throw .last("bind", endpoint: endpoint) }
    }

    func connect(_ endpoint: SocketEndpoint) throws(ZeroMQError) {
        try endpoint.checkLength()
        mayBeReadable = true
        guard zmq_connect(handle, endpoint.address) == 0 else { throw .last("connect to", endpoint: endpoint) }
    }

    func subscribe(_ prefix: UnsafeRawBufferPointer, isOn: Bool) throws(ZeroMQError) {
        mayBeReadable = true
        try set(isOn ? ZMQ_SUBSCRIBE : ZMQ_UNSUBSCRIBE, bytes: prefix)
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(ZeroMQError) -> Bool {
        if dice != nil, dice?.drops() == true { return true }
        mayBeReadable = true
        while true {
            if zmq_send(handle, bytes.baseAddress, bytes.count, ZMQ_DONTWAIT) >= 0 { return true }
            switch zmq_errno() {
            case EAGAIN: return false
            case EINTR: continue
            default: throw .last("send on a \(kind) socket")
            }
        }
    }

    func receive(_ body: (UnsafeRawBufferPointer) -> Void) throws(ZeroMQError) -> Bool {
        var message = zmq_msg_t()
        zmq_msg_init(&message)
        defer { zmq_msg_close(&message) }
        while zmq_msg_recv(&message, handle, ZMQ_DONTWAIT) < 0 {
            switch zmq_errno() {
            case EAGAIN:
                mayBeReadable = false
                return false
            case EINTR: continue
            default:
                let error = ZeroMQError.last("receive on a \(kind) socket")
                // Asking again would fail again.
                mayBeReadable = false
                throw error
            }
        }
        mayBeReadable = true
        if zmq_msg_more(&message) != 0 { dropRest() }
        body(UnsafeRawBufferPointer(start: zmq_msg_data(&message), count: zmq_msg_size(&message)))
        return true
    }

    /// libzmq delivers the frames of a message together, so that nothing here has to wait.
    private func dropRest() {
        var frame = zmq_msg_t()
        zmq_msg_init(&frame)
        defer { zmq_msg_close(&frame) }
        repeat {
            guard zmq_msg_recv(&frame, handle, ZMQ_DONTWAIT) >= 0 else { return }
            droppedFrames += 1
        } while zmq_msg_more(&frame) != 0
    }

    var lastEndpoint: String {
        var buffer = [CChar](repeating: 0, count: 256)
        var size = buffer.count
        guard zmq_getsockopt(handle, ZMQ_LAST_ENDPOINT, &buffer, &size) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        loop.forget(self)
        zmq_close(handle)
    }

    func abandon() {
        if isClosed { return }
        if loop.isCurrent {
            close()
        } else {
            loop.perform { self.close() }
        }
    }

    private func set(_ option: CInt, _ value: CInt) throws(ZeroMQError) {
        try withUnsafeBytes(of: value) { bytes throws(ZeroMQError) in try set(option, bytes: bytes) }
    }

    private func set(_ option: CInt, _ value: Int64) throws(ZeroMQError) {
        try withUnsafeBytes(of: value) { bytes throws(ZeroMQError) in try set(option, bytes: bytes) }
    }

    private func set(_ option: CInt, bytes: UnsafeRawBufferPointer) throws(ZeroMQError) {
        guard zmq_setsockopt(handle, option, bytes.baseAddress, bytes.count) == 0 else {
            throw .last("set option \(option) of a \(kind) socket")
        }
    }

    /// It announces by an edge.
    var descriptor: CInt {
        var descriptor: CInt = -1
        var size = MemoryLayout<CInt>.size
        zmq_getsockopt(handle, ZMQ_FD, &descriptor, &size)
        return descriptor
    }
}
