internal import Commands
internal import HTTPClient
internal import Transfers

/// Facts about the file, from the heads of the answers to a download.
struct DownloadFacts: Sendable {
    private(set) var status: Int?
    var validators = DownloadValidators()
    private(set) var mediaType: String?
    private(set) var contentDisposition: String?
    /// Whether the last answer has stated the length of its body.
    private(set) var hasLength = false
    /// The last URL, where a redirect was followed.
    var url: String?

    /// When the file was last modified, by its server.
    var modified: Timestamp? { validators.lastModified.flatMap { RetryAfter.date($0) } }

    mutating func take(_ answer: DownloadAnswer) {
        status = answer.status
        validators = answer.validators
        mediaType = answer.mediaType
        contentDisposition = answer.fields.first("content-disposition")
        hasLength = answer.length != nil
    }
}
