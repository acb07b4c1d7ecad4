internal import Glibc
internal import Host
internal import Logging
internal import Store
internal import Synchronization
internal import Wire
internal import ZeroMQ

/// Listens to the coordinator's control state, which comes every second, and calls out when it has been silent for 5 s:
/// a process that hangs is not dead, so nobody else notices.
final class Watchdog: Sendable {
    private struct State {
        /// The coordinator that was heard last; 0 before the first.
        var incarnation: Int64 = 0
        /// Frames of an earlier coordinator are of a dead one.
        var earliest: Int64 = 1
        /// Nanoseconds of this process's own waking time since it was heard.
        var silence: Int64 = 0
        var lastTick: Int64 = 0
        var hasBeenReady = false
    }

    private let loop: PollLoop
    private let context: Context
    private let runDescriptor: CInt
    private let state = Mutex(State())

    private static let tick: Int64 = 250_000_000
    private static let timeout: Int64 = 5_000_000_000
    /// A starting coordinator may have a long log to replay.
    private static let startTimeout: Int64 = 60_000_000_000

    init(directory: DataDirectory) throws {
        do throws(SystemError) {
            runDescriptor = try openDirectory(directory.run.path)
        } catch {
            throw ExitError(.input, "\(error)")
        }
        context = try Context()
        loop = try PollLoop(name: "sluice-watchdog")
    }

    /// - Parameters:
    ///   - onReady: called once, when the first coordinator is heard.
    ///   - onSilence: called when a coordinator is silent for too long.
    func start(logger: Logger, onReady: @escaping @Sendable () -> Void, onSilence: @escaping @Sendable () -> Void) {
        let endpoint = Endpoint.ipc(directoryDescriptor: runDescriptor, name: RunDirectory.Socket.control.name)
        let keeper = SocketKeeper()
        loop.perform { [weak self, loop, context] in
            guard let socket = try? Self.connect(endpoint, context: context, loop: loop) else { return }
            loop.whenReadable(socket) {
                while (try? keeper.socket?.receive { self?.hear($0, onReady) }) != nil {}
            }
            keeper.socket = consume socket
            loop.tick = { now in
                if self?.isSilent(now) == true {
                    // First: whoever reads the log may stand still as well.
                    onSilence()
                    logger.error("The coordinator has been silent for too long; it is killed and started again.")
                }
                return now + Self.tick
            }
        }
    }

    /// The coordinator has died: the next one has all the time that a start may need.
    func reset() {
        state.withLock { state in
            state.earliest = max(state.earliest, state.incarnation + 1)
            state.incarnation = 0
            state.silence = 0
        }
    }

    deinit {
        loop.stop()
        close(runDescriptor)
    }

    func stop() { loop.stop() }

    private func hear(_ frame: UnsafeRawBufferPointer, _ onReady: () -> Void) {
        guard let (head, message) = try? Message.decode(frame), case .control = message else { return }
        let isFirst = state.withLock { state in
            guard head.epoch >= state.earliest else { return false }
            state.incarnation = head.epoch
            state.silence = 0
            defer { state.hasBeenReady = true }
            return !state.hasBeenReady
        }
        if isFirst { onReady() }
    }

    private func isSilent(_ now: Int64) -> Bool {
        state.withLock { state in
            // Time in which this process was stopped itself tells nothing of the coordinator.
            if state.lastTick > 0 { state.silence += min(now - state.lastTick, 2 * Self.tick) }
            state.lastTick = now
            guard state.silence >= (state.incarnation == 0 ? Self.startTimeout : Self.timeout) else { return false }
            state.silence = 0
            return true
        }
    }

    private static func connect(
        _ endpoint: Endpoint, context: Context, loop: PollLoop
    ) throws(ZeroMQError) -> Socket {
        var options = Socket.Options()
        options.reconnectInterval = .milliseconds(20)
        options.reconnectIntervalMaximum = .milliseconds(200)
        options.maximumMessageSize = 16 << 20
        let socket = try Socket(.subscribe, context: context, loop: loop, options: options)
        try socket.subscribe()
        try socket.connect(endpoint)
        return socket
    }
}
