internal import Commands
internal import Work

extension UploadPayload {
    /// Opens the source and compares it with its state at submit. Blocks.
    /// - Throws: a ``CommandFailure``, final where the source has changed; or ``MissingSource``.
    func openSource() throws -> SourceFile {
        let opened: SourceFile
        do {
            opened = try SourceFile(path: file)
        } catch {
            // The error may pass, and the source may be unchanged.
            if error.problem == .passing { throw CommandFailure(.command, reason: error.message) }
            let failure = CommandFailure(.final, reason: "source changed since it was submitted: \(error)")
            if removeSource { throw MissingSource(failure: failure) }
            throw failure
        }
        if let source, let difference = opened.identity.difference(from: source) {
            throw SourceFile.changed(file, "since it was submitted: \(difference)")
        }
        return opened
    }

    /// Records the permissions of a copy to a `file:` URL if they differ from the source's: as with cp, those
    /// in `umask` are removed.
    mutating func recordMode(of source: SourceFile, umask: UInt32) {
        guard to.scheme == .file, mode == nil, source.permissions & umask != 0 else { return }
        mode = source.permissions & ~umask
    }
}
