internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Operations
internal import Store
internal import Synchronization

/// The copies of a put with `--spool`, from the first byte until their commands are submitted. A copy without a
/// command is deleted, also at Ctrl-C. A terminal shows the progress.
final class SpooledCopies: Sendable {
    private struct State {
        var isAbandoned = false
        /// Paths, in the order of the files.
        var copies: [String] = []
        /// The number of copies that commands may name. A copy may be left over, but no command lacks its
        /// file.
        var published = 0
        var progress: CopyProgress
    }

    private let spool: Spool
    /// The type of the commands.
    private let type: String
    /// The copies are made here, and moved into the spool itself by ``publish(_:_:_:)``.
    private let stage: SpoolStage
    private let state: Mutex<State>

    /// - Parameters:
    ///   - type: the type of the commands.
    ///   - files: the number of files that will be copied.
    ///   - total: bytes of all files.
    /// - Throws: ``StoreError`` where the spool cannot be used.
    init(in spool: Spool, type: String, files: Int, total: Int64) throws {
        do throws(StoreError) {
            try SpoolStage.sweep(spool)
        } catch {
            Diagnostics.say(error.message)
        }
        self.spool = spool
        self.type = type
        stage = try SpoolStage(in: spool)
        state = Mutex(State(progress: CopyProgress(files: files, total: total, now: .now)))
    }

    /// Copies the sources of all payloads.
    /// - Returns: payloads for ``publish(_:_:_:)``.
    /// - Throws: as ``Spool/take(_:of:began:copied:)``; the caller then abandons the copies.
    func take(_ payloads: [JSONValue]) throws -> [JSONValue] {
        let taken = try payloads.map { payload in
            let taken = try stage.spool.take(
                payload, of: type, began: { try begin($0) }, copied: { show(bytes: $0) })
            show(files: 1)
            return taken
        }
        Diagnostics.clearStatus()
        return taken
    }

    /// Moves copies into the spool. Their commands must be submitted next.
    /// - Parameters:
    ///   - range: indices of the files; all before them have been published.
    ///   - payloads: of all files, from ``take(_:)``.
    ///   - body: gets the payloads that name the moved copies; where it throws, they are not published.
    func publish<Value>(
        _ range: Range<Int>, _ payloads: [JSONValue], _ body: ([JSONValue]) throws -> Value
    ) throws -> Value {
        let published = try state.withLock { state in
            guard !state.isAbandoned else { throw CancellationError() }
            let published = try range.map { index in
                let adopted = try spool.adopt(payloads[index])
                state.copies[index] = adopted["file"]?.string ?? state.copies[index]
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
    /// - Returns: the number of published copies; nil where another call was first.
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

    /// Deletes the copy of the file with that index: no command names it.
    func discard(_ index: Int) { unlink(state.withLock { $0.copies[index] }) }

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
            return state.progress.add(bytes: bytes, files: files, now: .now)
        }
        guard let progress else { return }
        let label = "copying  "
        Diagnostics.showStatus { label + ProgressBar.line(progress, columns: $0 - label.count) }
    }
}
