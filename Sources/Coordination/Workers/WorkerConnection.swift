internal import Host
internal import Store
internal import ZeroMQ

/// The coordinator's side of one worker: the socket that offers go out by, and the watch on its process.
final class WorkerConnection {
    let socket: Socket
    let epoch: Int64
    /// Nil where the process cannot be seen from here; then its lock is tried every 250 ms, and nobody is signalled.
    var process: WatchedProcess?
    var watch: Registration?
    /// Frames that found no peer yet: a worker connects a moment after it was greeted.
    private var unsent: [[UInt8]] = []
    /// Its process has ended, or it is being ended: the lock is awaited.
    var isEnding = false

    init(socket: consuming Socket, epoch: Int64, process: consuming WatchedProcess?) {
        self.socket = socket
        self.epoch = epoch
        self.process = process
    }

    /// Sends a frame, behind those that wait for the worker to connect.
    func send(_ frame: [UInt8]) throws(ZeroMQError) {
        unsent.append(frame)
        try sendWaiting()
    }

    func sendWaiting() throws(ZeroMQError) {
        while let frame = unsent.first {
            guard try socket.send(frame) else { return }
            unsent.removeFirst()
        }
    }

    var isWaiting: Bool { !unsent.isEmpty }
}
