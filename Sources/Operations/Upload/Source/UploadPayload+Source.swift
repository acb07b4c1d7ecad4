internal import Commands
internal import Work

extension UploadPayload {
    /// Opens the source and compares it with its state at submit. Blocks.
    /// - Parameter directories: those that the source of a confined upload lies beneath.
    /// - Throws: a ``CommandFailure``, final where the source has changed; or ``MissingSource``.
    func openSource(beneath directories: [String]) throws -> SourceFile {
        do throws(CommandFailure) {
            return try SourceFile(unchanged: file, source, beneath: isConfined ? directories : nil)
        } catch {
            if removeSource, error.fault == .final { throw MissingSource(failure: error) }
            throw error
        }
    }

    /// Records the permissions of a copy to a `file:` URL if they differ from the source's: as with cp, those
    /// in `umask` are removed.
    mutating func recordMode(of source: SourceFile, umask: UInt32) {
        guard to.scheme == .file, mode == nil, source.permissions & umask != 0 else { return }
        mode = source.permissions & ~umask
    }
}

extension SourceFile {
    /// Opens a source and compares it with its state at submit. Blocks.
    /// - Parameter directories: as in ``init(path:beneath:requiringSize:)``.
    /// - Throws: a ``CommandFailure``, final where the source has changed or is gone.
    convenience init(
        unchanged path: String, _ recorded: SourceIdentity?, beneath directories: [String]? = nil
    ) throws(CommandFailure) {
        do {
            try self.init(path: path, beneath: directories)
        } catch {
            // The error may pass, and the source may be unchanged.
            if error.problem == .passing { throw CommandFailure(.command, reason: error.message) }
            throw CommandFailure(.final, reason: "source changed since it was submitted: \(error)")
        }
        if let recorded, let difference = identity.difference(from: recorded) {
            throw Self.changed(path, "since it was submitted: \(difference)")
        }
    }
}
