package import Commands
internal import Store

/// Choices of the upload endpoints, and services that they use where they are there.
package struct UploadsOptions: Sendable {
    /// Whether 104 is sent to clients that name an interop version. Turn it off behind nginx: 1.22 answers nothing
    /// after it (measured).
    package var sendsInterimResponses = true
    /// Looks an upload up without stopping the request that sends bytes to it. Without it every look stops one. It
    /// throws the errors of the upload engine.
    package var find: (@Sendable (CommandID) async throws -> Upload)?
    /// Computes a digest of a complete upload, for `Want-Repr-Digest`; nil where it cannot.
    package var digest: (@Sendable (Upload, UploadDigest.Algorithm) async -> UploadDigest?)?

    package init() {}
}
