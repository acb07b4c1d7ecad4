internal import Commands
internal import HTTPClient
internal import Transfers

/// The stored form of a download that has succeeded:
///
/// ```
/// {"path": "/data/in/a.mp4",
///  "bytes": 1048576,             of the file; absent where nothing was downloaded
///  "status": 200,                of the last answer; absent without one
///  "checksum": "verified",       "none": neither the payload nor the server states one
///  "checksums": ["sha256:…"],    those that were verified
///  "unverified": true,           nothing shows that the file is whole; absent: false
///  "notModified": true,          the target was current already (“ifChanged”); absent: false
///  "kept": true,                 the target existed, and stays (“overwrite”); absent: false
///  "nameTaken": true,            of a failure: the name that the server chose exists at “path”; absent: false
///  "etag": "\"abc\"", "lastModified": "…", "contentType": "video/mp4",
///  "url": "https://…",           the last one, after redirects
///  "resumed": 1, "restarted": 0, "wasted": 16384}    ``DownloadCounts``
/// ```
struct DownloadResult: Sendable {
    /// How the download has ended.
    struct End: Sendable {
        var path: String
        /// Nil: the file was not replaced.
        var completion: DownloadCompletion?
        var isNotModified = false
        var isKept = false
    }

    var facts = DownloadFacts()
    var counts = DownloadCounts()
    var end: End

    /// The result for a target that exists and must not be replaced.
    /// - Throws: a final ``CommandFailure`` where “overwrite” is “fail”.
    static func ofExisting(_ target: CopyTarget, _ payload: DownloadPayload) throws(CommandFailure) -> [UInt8] {
        guard payload.overwrite == .keep else {
            var failure = CommandFailure(
                .final,
                reason: payload.isNamedByServer && payload.overwrite == .replace
                    ? "the server names the file \(target.name), and \(target.path) exists; a name that a server chose "
                        + "replaces nothing: give the file a name (--name), or another one beside it (--rename)"
                    : "\(target.path) exists, and “overwrite” is “fail”; remove it, or give another “to”")
            if payload.isNamedByServer {
                let members: [JSONValue.Member] = [.init("path", .string(target.path)), .init("nameTaken", true)]
                failure.result = JSONValue.object(members).bytes
            }
            throw failure
        }
        return DownloadResult(end: End(path: target.path, isKept: true)).json
    }

    var json: [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.beginObject()
        writer.member("path", end.path)
        if let completion = end.completion {
            writer.member("bytes", completion.length)
            if let status = facts.status { writer.member("status", status) }
            writer.member("checksum", completion.checksums.isEmpty ? "none" : "verified")
            if !completion.checksums.isEmpty {
                writer.member("checksums", .array(completion.checksums.map { .string($0.text) }))
            }
            if completion.isUnverified { writer.member("unverified", true) }
        }
        if end.isNotModified { writer.member("notModified", true) }
        if end.isKept { writer.member("kept", true) }
        if let tag = facts.validators.tag { writer.member("etag", tag.text) }
        if let modified = facts.validators.lastModified { writer.member("lastModified", modified) }
        if let type = facts.mediaType { writer.member("contentType", type) }
        if let url = facts.url { writer.member("url", url) }
        if !end.isKept {
            writer.member("resumed", counts.resumed)
            writer.member("restarted", counts.restarted)
            writer.member("wasted", counts.wasted)
        }
        writer.endObject()
        return writer.bytes
    }
}

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
