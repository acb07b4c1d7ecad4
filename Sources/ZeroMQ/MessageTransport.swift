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
    func bind(_ endpoint: Endpoint) throws(ZeroMQError)
    /// As ``Socket/connect(_:)``.
    func connect(_ endpoint: Endpoint) throws(ZeroMQError)
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
