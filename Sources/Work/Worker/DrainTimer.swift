internal import Commands
internal import Host

/// The two waits of a drain, on a thread of its own.
final class DrainTimer: Sendable {
    private let isOver = MonotonicSemaphore(value: 0)

    /// - Parameters:
    ///   - whenGraceEnds: called after `grace`.
    ///   - whenOver: called after `abandonTimeout` more.
    init(
        grace: Duration, abandonTimeout: Duration, whenGraceEnds: @escaping @Sendable () -> Void,
        whenOver: @escaping @Sendable () -> Void
    ) {
        startThread(named: "sluice-drain") { [isOver] in
            if isOver.wait(timeout: grace) { return }
            whenGraceEnds()
            if isOver.wait(timeout: abandonTimeout) { return }
            whenOver()
        }
    }

    func cancel() { isOver.signal() }
}
