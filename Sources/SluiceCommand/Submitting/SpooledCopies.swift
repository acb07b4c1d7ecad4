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
    private struct State {
        var isAbandoned = false
        /// Paths, in the order of the files.
        var copies: [String] = []
        /// So many of them commands may name: a copy is left over rather than a command without its file.
        var published = 0
        var progress: CopyProgress
    }

    private let spool: Spool
    /// They are made here, and lie in the spool itself from ``publish(_:_:_:)`` on.
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

    /// Copies the sources of all payloads.
    /// - Returns: payloads for ``publish(_:_:_:)``.
    /// - Throws: as ``Spool/take(_:began:copied:)``; who meets it abandons what is there.
    func take(_ payloads: [JSONValue]) throws -> [JSONValue] {
        let taken = try payloads.map { payload in
            let taken = try stage.spool.take(payload, began: { try begin($0) }, copied: { show(bytes: $0) })
            show(files: 1)
            return taken
        }
        Diagnostics.clearStatus()
        return taken
    }

    /// Puts copies where commands may name them, which must be submitted next.
    /// - Parameters:
    ///   - range: places of the files; what comes before has been published.
    ///   - payloads: those of ``take(_:)``, of all files.
    ///   - body: is given the payloads that name these copies there; where it throws, they are not published.
    func publish<Value>(
        _ range: Range<Int>, _ payloads: [JSONValue], _ body: ([JSONValue]) throws -> Value
    ) throws -> Value {
        let published = try state.withLock { state in
            guard !state.isAbandoned else { throw CancellationError() }
            let published = try range.map { place in
                let adopted = try spool.adopt(payloads[place])
                state.copies[place] = adopted["file"]?.string ?? state.copies[place]
                return adopted
            }
            state.published = range.upperBound
            return published
        }
        do {
            try spool.sync()
            return try body(published)
        } catch {
            state.withLock { $0.published = range.lowerBound }
            throw error
        }
    }

    /// Deletes all copies but those that are published.
    /// - Returns: how many these are; nil where another call was first.
    func abandon() -> Int? {
        let (copies, published) = state.withLock { state -> ([String]?, Int) in
            defer { state.isAbandoned = true }
            return (state.isAbandoned ? nil : Array(state.copies[state.published...]), state.published)
        }
        guard let copies else { return nil }
        Diagnostics.clearStatus()
        for copy in copies { unlink(copy) }
        stage.remove()
        return published
    }

    /// Deletes the copy of the file at that place: no command names it.
    func discard(_ place: Int) { unlink(state.withLock { $0.copies[place] }) }

    private func begin(_ path: String) throws {
        try state.withLock { state in
            guard !state.isAbandoned else { throw CancellationError() }
            state.copies.append(path)
        }
    }

    // MARK: The terminal

    private func show(bytes: Int64 = 0, files: Int = 0) {
        let progress = state.withLock { state -> TransferProgress? in
            guard !state.isAbandoned else { return nil }
            return state.progress.add(bytes: bytes, files: files, now: Int64(clinux_monotonic()))
        }
        guard let progress else { return }
        let label = "copying  "
        Diagnostics.showStatus { label + ProgressBar.line(progress, columns: $0 - label.count) }
    }
}
