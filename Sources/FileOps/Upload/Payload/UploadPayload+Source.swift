internal import Commands
internal import Transfers

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
