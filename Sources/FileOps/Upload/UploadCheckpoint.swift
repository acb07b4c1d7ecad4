internal import Commands
internal import Operations
internal import Transfers

/// The state that an upload saves in the store (``CommandExecution/saveCheckpoint(_:)``), so that any worker
/// can resume it after this one has died. It is valid for the same source only.
///
/// ```
/// {"tus": "https://media.example.com/files/24e5", "cookies": [["route=2", "/files"]], "source": {…}}
///                                                                   the URL of the upload
/// {"contentRange": "session", "source": {…}}                        how the offset is queried
/// {"copy": "<boot>", "synced": 268435456, "source": {…}}            bytes of a copy that survive a loss of power
/// ```
struct UploadCheckpoint: Equatable {
    enum ResumePoint: Sendable, Equatable {
        case tus(TusLocation)
        case contentRange(ContentRangeKind)
        /// - Parameters:
        ///   - boot: the boot in which all written bytes are valid.
        ///   - synced: bytes that survive a loss of power.
        case copy(boot: String, synced: Int64)
    }

    var resumePoint: ResumePoint
    var source: SourceIdentity

    /// - Returns: nil where there is no checkpoint, this program cannot read it, or it is for another source.
    ///   Then the upload starts over.
    init?(_ bytes: [UInt8]?, of source: SourceIdentity) {
        guard let bytes, let value = try? JSONValue(parsing: bytes), let described = value["source"],
            let identity = try? SourceIdentity(described), identity.difference(from: source) == nil
        else { return nil }
        if let text = value["tus"]?.string, let url = try? ResourceURL(text) {
            let cookies = value["cookies"]?.elements ?? []
            resumePoint = .tus(TusLocation(url: url, cookies: cookies.compactMap(UploadCookie.init)))
        } else if let name = value["contentRange"]?.string, let kind = ContentRangeKind(rawValue: name) {
            resumePoint = .contentRange(kind)
        } else if let boot = value["copy"]?.string, let synced = value["synced"]?.integer {
            resumePoint = .copy(boot: boot, synced: synced)
        } else {
            return nil
        }
        self.source = identity
    }

    init(_ resumePoint: ResumePoint, of source: SourceIdentity) {
        self.resumePoint = resumePoint
        self.source = source
    }

    var bytes: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.beginObject()
        switch resumePoint {
        case .tus(let location):
            writer.member("tus", location.url.text)
            if !location.cookies.isEmpty { writer.member("cookies", JSONValue.array(location.cookies.map(\.json))) }
        case .contentRange(let kind): writer.member("contentRange", kind.rawValue)
        case .copy(let boot, let synced):
            writer.member("copy", boot)
            writer.member("synced", synced)
        }
        writer.member("source", source.json)
        writer.endObject()
        return writer.bytes
    }
}

extension CommandExecution {
    /// Saves a checkpoint. From now on the execution can be interrupted at little cost.
    func save(_ resumePoint: UploadCheckpoint.ResumePoint, of source: SourceIdentity) async throws {
        try await saveCheckpoint(UploadCheckpoint(resumePoint, of: source).bytes)
        canResume()
    }
}

/// How the offset of an upload by `Content-Range` is queried. The raw values are stored in checkpoints.
enum ContentRangeKind: String, Sendable {
    /// ``ContentRangeSession``
    case session
    /// ``ContentRangeLength``
    case length
}
