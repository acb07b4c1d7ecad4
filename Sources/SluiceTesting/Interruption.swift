/// An end that comes to an execution from outside, at a point that the execution reaches.
///
/// The execution stops at the point: nothing of the operation runs until its task is cancelled. So a test sees the same
/// in each run.
public struct Interruption: Sendable, Equatable {
    /// A point of an execution.
    public enum Point: Sendable, Equatable {
        /// Just before `execute` is called.
        case start
        /// When a checkpoint is saved, counted from 1.
        case checkpoint(Int)
        /// When the operation reports an offset of this many bytes or more.
        case progress(Int64)
    }

    enum Kind: Sendable, Equatable {
        case cancel, preempt, crash
    }

    let kind: Kind
    let point: Point

    /// A person cancels the command.
    public static func cancel(at point: Point = .start) -> Interruption {
        Interruption(kind: .cancel, point: point)
    }

    /// The execution makes way for another one, uncharged: the command is `new` again, and keeps its checkpoint.
    public static func preempt(at point: Point = .start) -> Interruption {
        Interruption(kind: .preempt, point: point)
    }

    /// The worker dies: the command is `new` again, or `inDoubt` where it is not idempotent. Later writes
    /// of the execution have no effect on the store.
    public static func crash(at point: Point = .start) -> Interruption {
        Interruption(kind: .crash, point: point)
    }
}
