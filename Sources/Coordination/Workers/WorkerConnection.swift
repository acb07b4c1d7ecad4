internal import Membership
internal import Wire
internal import ZeroMQ

/// The coordinator's side of one worker: the socket for its offers, and the watch on its process.
final class WorkerConnection {
    let socket: Socket
    let epoch: Int64
    /// Nil where the process cannot be seen from here, as in another container. Then its death is looked for every
    /// 250 ms, and it is sent no signal.
    let process: (any ProcessWatch)?
    /// Its process has ended or is being ended, and the proof of its death is awaited.
    var isEnding = false
    /// Of the last frame.
    private var sequence: Int64 = 0
    /// Frames that found no peer yet: a worker connects a moment after it is registered.
    private var unsent: [[UInt8]] = []

    init(socket: consuming Socket, epoch: Int64, process: (any ProcessWatch)?) {
        self.socket = socket
        self.epoch = epoch
        self.process = process
    }

    var isWaiting: Bool { !unsent.isEmpty }

    /// Sends a message behind those that wait for the worker to connect.
    /// - Parameter coordinator: the epoch of the coordinator.
    func send(_ message: Message, seat: Int, coordinator: Int64) throws(ZeroMQError) {
        sequence += 1
        unsent.append(message.encoded(FrameHead(seat: seat, epoch: coordinator, sequence: sequence)))
        try sendWaiting()
    }

    func sendWaiting() throws(ZeroMQError) {
        while let frame = unsent.first {
            guard try socket.send(frame) else { return }
            unsent.removeFirst()
        }
    }
}
