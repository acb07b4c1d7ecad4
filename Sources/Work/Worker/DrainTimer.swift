internal import Commands
internal import Dispatch
internal import Host

/// The two waits of a drain, on a thread of its own.
final class DrainTimer: Sendable {
    private let isOver = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - whenGraceEnds: called after `grace`.
    ///   - whenOver: called after `abandonTimeout` more.
    init(
        grace: Duration, abandonTimeout: Duration, whenGraceEnds: @escaping @Sendable () -> Void,
        whenOver: @escaping @Sendable () -> Void
    ) {
        startThread(named: "sluice-drain") { [isOver] in
            guard isOver.wait(timeout: .now() + grace.seconds) == .timedOut else { return }
            whenGraceEnds()
            guard isOver.wait(timeout: .now() + abandonTimeout.seconds) == .timedOut else { return }
            whenOver()
        }
    }

    func cancel() { isOver.signal() }
}
