package import Commands
internal import Glibc
internal import Store
internal import Synchronization

/// The copies of a put with `--spool`, from the first byte until their commands are submitted. A copy without a
/// command is deleted, also when the caller abandons them at Ctrl-C.
package final class SpooledCopies: Sendable {
    private struct State {
        var isAbandoned = false
        /// Paths, in the order of the files.
        var copies: [String] = []
        /// The number of copies that commands may name. A copy may be left over, but no command lacks its
        /// file.
        var published = 0
    }

    private let spool: Spool
    /// The type of the commands.
    private let type: String
    /// The copies are made here, and moved into the spool itself by ``publish(_:_:_:)``.
    private let stage: SpoolStage
    private let state = Mutex(State())
    /// Called with bytes and files as they are copied, until the copies are abandoned.
    private let copied: @Sendable (_ bytes: Int64, _ files: Int) -> Void

    /// - Parameters:
    ///   - spool: an existing directory with mode 0700.
    ///   - umask: of the process that submits.
    ///   - type: the type of the commands.
    /// - Throws: where the spool cannot be used.
    package init(
        in spool: String, umask: UInt32, type: String,
        copied: @escaping @Sendable (_ bytes: Int64, _ files: Int) -> Void
    ) throws {
        self.spool = Spool(directory: spool, umask: umask)
        self.type = type
        self.copied = copied
        stage = try SpoolStage(in: self.spool)
    }

    /// Deletes the copies that killed processes have left in a spool. Blocks.
    /// - Throws: with the name of a file that cannot be deleted.
    package static func sweep(_ spool: String) throws { try SpoolStage.sweep(Spool(directory: spool)) }

    /// Copies the sources of all payloads.
    /// - Returns: payloads for ``publish(_:_:_:)``.
    /// - Throws: as ``Spool/take(_:of:began:copied:)``; the caller then abandons the copies.
    package func take(_ payloads: [JSONValue]) throws -> [JSONValue] {
        let taken = try payloads.map { payload in
            let taken = try stage.spool.take(
                payload, of: type, began: { try begin($0) }, copied: { show(bytes: $0) })
            show(files: 1)
            return taken
        }
        return taken
    }

    /// Moves copies into the spool. Their commands must be submitted next.
    /// - Parameters:
    ///   - range: indices of the files; all before them have been published.
    ///   - payloads: of all files, from ``take(_:)``.
    ///   - body: gets the payloads that name the moved copies; where it throws, they are not published.
    package func publish<Value>(
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
    package func abandon() -> Int? {
        let (copies, published) = state.withLock { state -> ([String]?, Int) in
            defer { state.isAbandoned = true }
            return (state.isAbandoned ? nil : Array(state.copies[state.published...]), state.published)
        }
        guard let copies else { return nil }
        for copy in copies { unlink(copy) }
        stage.remove()
        return published
    }

    /// Deletes the copy of the file with that index: no command names it.
    package func discard(_ index: Int) { unlink(state.withLock { $0.copies[index] }) }

    private func begin(_ path: String) throws {
        try state.withLock { state in
            guard !state.isAbandoned else { throw CancellationError() }
            state.copies.append(path)
        }
    }

    private func show(bytes: Int64 = 0, files: Int = 0) {
        if state.withLock({ !$0.isAbandoned }) { copied(bytes, files) }
    }
}
