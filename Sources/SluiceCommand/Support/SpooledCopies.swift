internal import CLinux
internal import Commands
internal import Console
internal import Glibc
internal import Operations
internal import Store
internal import Synchronization

/// The copies of `put --spool`, from the first byte until their commands are submitted. What no command will name is deleted,
/// also at Ctrl-C. A terminal sees how far the copying has got.
final class SpooledCopies: Sendable {
    private enum Phase {
        case copying
        /// Commands may name them from here on: a copy is left over rather than a command without its file.
        case handedOver
        case abandoned
    }

    private struct State {
        var phase = Phase.copying
        /// Paths, in the order of the files.
        var copies: [String] = []
        var progress: CopyProgress
    }

    private let spool: Spool
    /// They are made here, and lie in the spool itself from ``publish(_:)`` on.
    private let stage: SpoolStage
    private let state: Mutex<State>

    /// - Parameters:
    ///   - files: that will be copied.
    ///   - total: bytes in all of them.
    /// - Throws: ``StoreError`` where the spool cannot be used.
    init(in spool: Spool, files: Int, total: Int64) throws {
        do throws(StoreError) {
            try SpoolStage.sweep(spool)
        } catch {
            Diagnostics.say(error.message)
        }
        self.spool = spool
        stage = try SpoolStage(in: spool)
        state = Mutex(State(progress: CopyProgress(files: files, total: total, now: Int64(clinux_monotonic()))))
    }

    /// Runs `body`, which takes all copies; where it throws, none is left.
    func makeAll<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            let value = try body()
            try handOver()
            return value
        } catch {
            // Otherwise Ctrl-C deletes them, and ends the process when it has: what comes of that is no error of its own.
            guard abandon() else { Self.waitForEnd() }
            throw error
        }
    }

    private static func waitForEnd() -> Never {
        while true { sleep(1) }
    }

    /// As ``Spool/take(_:began:copied:)``.
    func take(_ payload: JSONValue) throws -> JSONValue {
        let taken = try stage.spool.take(payload, began: { try begin($0) }, copied: { show(bytes: $0) })
        show(files: 1)
        return taken
    }

    /// Puts all copies where commands may name them.
    /// - Parameter payloads: those of ``take(_:)``, in the same order.
    /// - Returns: the payloads that name them there.
    func publish(_ payloads: [JSONValue]) throws -> [JSONValue] {
        let published = try payloads.enumerated().map { place, payload in
            try state.withLock { state in
                guard case .copying = state.phase else { throw CancellationError() }
                let adopted = try spool.adopt(payload)
                if let path = adopted["file"]?.string { state.copies[place] = path }
                return adopted
            }
        }
        try spool.sync()
        stage.remove()
        return published
    }

    /// Deletes all copies, unless they have been handed over.
    /// - Returns: whether it was this call that did.
    func abandon() -> Bool {
        let copies = state.withLock { state -> [String]? in
            guard case .copying = state.phase else { return nil }
            state.phase = .abandoned
            return state.copies
        }
        guard let copies else { return false }
        Diagnostics.clearStatus()
        for copy in copies { unlink(copy) }
        stage.remove()
        return true
    }

    /// Deletes the copy of the file at that place: no command names it.
    func discard(_ place: Int) { spool.discard(file: state.withLock { $0.copies[place] }) }

    private func begin(_ path: String) throws {
        try state.withLock { state in
            guard case .copying = state.phase else { throw CancellationError() }
            state.copies.append(path)
        }
    }

    private func handOver() throws {
        try state.withLock { state in
            guard case .copying = state.phase else { throw CancellationError() }
            state.phase = .handedOver
        }
        Diagnostics.clearStatus()
    }

    // MARK: The terminal

    private func show(bytes: Int64 = 0, files: Int = 0) {
        let progress = state.withLock { state -> TransferProgress? in
            guard case .copying = state.phase,
                let progress = state.progress.add(bytes: bytes, files: files, now: Int64(clinux_monotonic()))
            else { return nil }
            return progress
        }
        guard let progress else { return }
        let label = "copying  "
        Diagnostics.showStatus { label + ProgressBar.line(progress, columns: $0 - label.count) }
    }
}
