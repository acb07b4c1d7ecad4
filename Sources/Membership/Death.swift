package import Store
package import ZeroMQ

/// The proof that the worker of a seat is dead. Hold it until the commands of the worker are released.
package final class DeathProof: Sendable {
    private let evidence: any AnyObject & Sendable

    /// - Parameter evidence: keeps other workers from the seat for as long as it is referenced.
    package init(_ evidence: any AnyObject & Sendable) { self.evidence = evidence }
}

/// The cause of a worker’s death as its machine tells it.
package struct DeathReport: Sendable, Equatable {
    package enum Cause: Sendable {
        /// Its process ended before it had drained.
        case crash
        /// A person had stopped or killed it.
        case intended
        /// The machine was restarted.
        case reboot
    }

    package var cause: Cause
    /// Nil where they are not known, and all commands that it had claimed may have been started.
    package var started: StartedExecutions?

    package init(_ cause: Cause, started: StartedExecutions?) {
        self.cause = cause
        self.started = started
    }
}

/// A watch on the process of a worker, which need not be a child. Confined to one loop.
package protocol ProcessWatch: AnyObject {
    /// Calls `body` on the loop when the process has ended, once.
    func whenEnded(on loop: PollLoop, _ body: @escaping () -> Void)

    /// The body is not called any more. Call it before the last reference goes.
    func stop()

    /// Kills a worker that hangs, and never a later owner of its process id. Where a person has stopped the process, its
    /// commands did not cause that, so its death is noted as intended and charges none of them.
    func killHung()
}
