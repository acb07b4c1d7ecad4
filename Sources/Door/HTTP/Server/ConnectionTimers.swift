internal import Host
internal import NIOCore

/// Watches the deadlines of one connection. Used on its event loop only.
final class ConnectionTimers {
    private var clock: ConnectionClock
    private let progress: BodyProgress
    private let eventLoop: any EventLoop
    private var scheduled: (task: Scheduled<Void>, at: MonotonicTime)?
    private var bodyCheck: Scheduled<Void>?
    private var isStopped = false
    /// Called at most once for each deadline that passes.
    var expired: (ConnectionClock.Expiry) -> Void = { _ in }
    var bodyIsSlow: () -> Void = {}

    init(_ configuration: DoorServerConfiguration, progress: BodyProgress, eventLoop: any EventLoop) {
        clock = ConnectionClock(
            header: configuration.headerTimeout, keepAlive: configuration.keepAliveTimeout,
            write: configuration.writeTimeout, now: .now)
        self.progress = progress
        self.eventLoop = eventLoop
    }

    var isAnswering: Bool { clock.isAnswering }

    func start() { schedule() }

    func stop() {
        isStopped = true
        scheduled?.task.cancel()
        bodyCheck?.cancel()
        (expired, bodyIsSlow) = ({ _ in }, {})
    }

    func bytesArrived() { change { $0.bytesArrived(at: .now) } }
    func responseWritten() { change { $0.responseWritten(at: .now) } }
    func writeBegan() { change { $0.writeBegan(at: .now) } }
    func writeEnded() { change { $0.writeEnded(at: .now) } }

    func headRead(hasBody: Bool) {
        change { $0.headRead() }
        if hasBody, bodyCheck == nil { checkBody() }
    }

    func messageRead() {
        change { $0.messageRead() }
        bodyCheck?.cancel()
        bodyCheck = nil
    }

    private func change(_ change: (inout ConnectionClock) -> Void) {
        change(&clock)
        schedule()
    }

    /// A task that is scheduled too early looks again; only an earlier deadline needs another task.
    private func schedule() {
        guard !isStopped, let deadline = clock.deadline else { return }
        if let scheduled {
            guard deadline < scheduled.at else { return }
            scheduled.task.cancel()
        }
        let delay = TimeAmount.nanoseconds(max(0, (deadline - .now).nanoseconds))
        let task = eventLoop.assumeIsolated().scheduleTask(in: delay) { [self] in
            scheduled = nil
            if let expiry = clock.expiry(at: .now) {
                expired(expiry)
            } else {
                schedule()
            }
        }
        scheduled = (task, deadline)
    }

    private func checkBody() {
        switch progress.check() {
        case .tooSlow:
            bodyCheck = nil
            bodyIsSlow()
        case .checkAfter(let delay):
            bodyCheck = eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds + 1_000_000)) {
                [self] in
                guard !isStopped else { return }
                checkBody()
            }
        }
    }
}
