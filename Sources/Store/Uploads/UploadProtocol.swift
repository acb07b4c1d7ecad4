/// The protocol of an upload. The raw values are part of the store and of metrics.
package enum UploadProtocol: String, Sendable, CaseIterable {
    case tus
    /// Resumable Uploads for HTTP, a draft of the IETF.
    case resumable
    /// A plain PUT or POST of the bytes.
    case plain
    /// `multipart/form-data`.
    case form

    /// Whether a client goes on with an upload by its URL.
    package var isResumable: Bool { self == .tus || self == .resumable }
}
