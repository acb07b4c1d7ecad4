internal import Synchronization

/// The work of one ``FileSystemCall`` and the ways to answer it.
final class FileSystemJob: Sendable {
    /// Does the work. Its result is a closure that hands the result over.
    typealias Work = @Sendable () -> @Sendable () -> Void

    let call: FileSystemCall
    /// False for a clean-up.
    let mayBeRefused: Bool
    let refuse: @Sendable (any Error) -> Void
    private let work: Mutex<Work?>

    init(
        _ call: FileSystemCall, mayBeRefused: Bool, refuse: @escaping @Sendable (any Error) -> Void,
        work: @escaping Work
    ) {
        self.call = call
        self.mayBeRefused = mayBeRefused
        self.refuse = refuse
        self.work = Mutex(work)
    }

    /// Does the work, and releases the objects that the work holds.
    /// - Returns: a closure that hands the result over.
    func perform() -> @Sendable () -> Void {
        let taken = work.withLock { work -> Work? in
            defer { work = nil }
            return work
        }
        guard let taken else { return {} }
        return taken()
    }
}
