internal import Commands
internal import Logging
internal import Supervision
internal import Synchronization

/// The replacement of `sluice up` by the program that is installed at its path.
final class Reload: Sendable {
    private enum State {
        case none, checking, draining
        /// A person ends the service instead.
        case cancelled
    }

    private let state = Mutex(State.none)
    private let logger: Logger
    private let drain: @Sendable () -> Void

    /// - Parameter drain: ends the children; then the process is replaced.
    init(logger: Logger, drain: @escaping @Sendable () -> Void) {
        self.logger = logger
        self.drain = drain
        _ = Executable.installed
    }

    /// Whether the process is to be replaced, now that its children have ended.
    var isDue: Bool { state.withLock { $0 == .draining } }

    func cancel() { state.withLock { $0 = .cancelled } }

    /// Checks that the installed program runs before anything is ended.
    func begin() {
        guard move(from: .none, to: .checking) else { return }
        Task {
            do {
                let version = try await ProgramVersion.read(of: Executable.installed)
                guard move(from: .checking, to: .draining) else { return }
                logger.notice(
                    "Reloading: each worker drains in its turn, then the installed program starts.",
                    metadata: [
                        "from": "\(SluiceVersion.current)", "to": "\(version)", "path": "\(Executable.installed)",
                    ])
                Notify.reloading()
                drain()
            } catch {
                logger.error("Not reloaded, because \(error); install a program that runs, and try again.")
                _ = move(from: .checking, to: .none)
            }
        }
    }

    private func move(from before: State, to after: State) -> Bool {
        state.withLock { state in
            guard state == before else { return false }
            state = after
            return true
        }
    }
}
