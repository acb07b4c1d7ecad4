internal import Host
internal import Logging
internal import Membership
internal import Queue
internal import Synchronization
internal import Wire
internal import ZeroMQ

/// Receives the coordinator's control state, which is sent every second, and reports a coordinator that has
/// been silent for 5 s: a process that hangs is not dead, so that no lock and no exit shows it.
actor Watchdog {
    private let loop: PollLoop
    private let endpoints: any OpenEndpoints
    private var socket: Socket?
    /// The epoch of the coordinator that was heard last; 0 before the first.
    private var epoch: Int64 = 0
    /// Frames of lower epochs are from coordinators that have died.
    private var minEpoch: Int64 = 1
    /// The time since the last frame in which this process itself was awake.
    private var silence = Duration.zero
    private var lastTick: MonotonicTime?
    private var hasBeenReady = false
    /// Whether the running coordinator was heard.
    private let heard = Atomic<Bool>(false)

    private static let tick: Duration = .milliseconds(250)
    private static let timeout: Duration = .seconds(5)
    /// After this silence it is asked whether the coordinator is frozen.
    private static let suspicious: Duration = .seconds(1)
    /// A starting coordinator may have to read a long WAL.
    private static let startTimeout: Duration = .seconds(60)

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ endpoints: any Endpoints) throws {
        do throws(SystemError) { self.endpoints = try endpoints.open() } catch {
            throw ExitError(.input, error.description)
        }
        loop = try PollLoop(name: "sluice-watchdog")
    }

    deinit {
        loop.stop()
    }

    /// - Parameters:
    ///   - isFrozen: whether the control group of the coordinator is frozen. Its silence does not count then.
    ///   - onReady: called once, when the first coordinator is heard.
    ///   - onSilence: called when a coordinator is silent for too long.
    nonisolated func start(
        logger: Logger, isFrozen: @escaping @Sendable () -> Bool, onReady: @escaping @Sendable () -> Void,
        onSilence: @escaping @Sendable () -> Void
    ) {
        loop.perform { [weak self] in self?.assumeIsolated { $0.connect(logger, isFrozen, onReady, onSilence) } }
    }

    /// The coordinator has died: the next one has the whole time of a start.
    nonisolated func reset() {
        heard.store(false, ordering: .sequentiallyConsistent)
        loop.perform { [weak self] in self?.assumeIsolated { $0.expectNext() } }
    }

    nonisolated func stop() { loop.stop() }

    nonisolated var hasHeardCoordinator: Bool { heard.load(ordering: .sequentiallyConsistent) }

    // MARK: On the loop

    private func connect(
        _ logger: Logger, _ isFrozen: @escaping @Sendable () -> Bool, _ onReady: @escaping @Sendable () -> Void,
        _ onSilence: @escaping @Sendable () -> Void
    ) {
        var options = Socket.Options()
        options.reconnectInterval = .milliseconds(20)
        options.reconnectIntervalMaximum = .milliseconds(200)
        options.maximumMessageSize = 16 << 20
        guard let made = try? endpoints.connect(.subscribe, to: .control, options: options, on: loop),
            (try? made.subscribe()) != nil
        else { return }
        loop.whenReadable(made) { [weak self] in self?.assumeIsolated { $0.receive(onReady) } }
        socket = consume made
        loop.tick = { [weak self] now in
            guard let self else { return nil }
            Notify.alive()
            if assumeIsolated({ $0.isSilent(now, isFrozen) }) {
                // First the kill: the reader of the log may hang as well.
                onSilence()
                logger.error("The coordinator has been silent for too long; it is killed and started again.")
            }
            return now + Self.tick
        }
    }

    private func expectNext() {
        minEpoch = max(minEpoch, epoch + 1)
        epoch = 0
        silence = .zero
    }

    private func receive(_ onReady: () -> Void) {
        while let frame = (try? socket?.receive { Array($0) }) ?? nil {
            guard let (head, message) = try? frame.withUnsafeBytes({ try Message.decode($0) }), case .control = message,
                head.epoch >= minEpoch
            else { continue }
            epoch = head.epoch
            heard.store(true, ordering: .sequentiallyConsistent)
            silence = .zero
            if !hasBeenReady {
                hasBeenReady = true
                onReady()
            }
        }
    }

    private func isSilent(_ now: MonotonicTime, _ isFrozen: () -> Bool) -> Bool {
        // While this process itself was stopped, it could not hear the coordinator.
        if let lastTick { silence += min(now - lastTick, Self.tick * 2) }
        lastTick = now
        if silence > Self.suspicious, isFrozen() { silence = .zero }
        guard silence >= (epoch == 0 ? Self.startTimeout : Self.timeout) else { return false }
        silence = .zero
        return true
    }
}
