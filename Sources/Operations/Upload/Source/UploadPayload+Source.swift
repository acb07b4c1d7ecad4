internal import Commands
internal import Work

extension UploadPayload {
    /// Opens the source and compares it with what was recorded at submit. Blocks.
    /// - Throws: a ``CommandFailure``, final where the source is not what it was, or ``MissingSource``.
    func openSource() throws -> SourceFile {
        let opened: SourceFile
        do {
            opened = try SourceFile(path: file)
        } catch {
            // No fault of the source: it may well be what it was.
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

    /// Records the permissions of a copy to a `file:` URL where they are not the source's: without those that `umask` takes
    /// away, as cp does it.
    mutating func settleMode(of source: SourceFile, umask: UInt32) {
        guard to.scheme == .file, mode == nil, source.permissions & umask != 0 else { return }
        mode = source.permissions & ~umask
    }
}
