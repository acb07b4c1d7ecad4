internal import Commands
internal import Work

/// What an upload leaves in the store for the execution after it (``CommandExecution/saveCheckpoint(_:)``), so that any worker can go on
/// where this one died. Valid for the same source only.
///
/// ```
/// {"tus": "https://media.example.com/files/24e5", "cookies": [["route=2", "/files"]], "source": {…}}
///                                                                   where the upload lives
/// {"contentRange": "session", "source": {…}}                        how the destination is asked
/// {"copy": "<boot>", "synced": 268435456, "source": {…}}            what is on disk of a copy, whatever happens
/// ```
struct UploadCheckpoint: Equatable {
    enum Way: Sendable, Equatable {
        case tus(TusLocation)
        case contentRange(ContentRangeKind)
        /// - Parameters:
        ///   - boot: in which all that was written can be read.
        ///   - synced: bytes that a loss of power leaves.
        case copy(boot: String, synced: Int64)
    }

    var way: Way
    var source: SourceIdentity

    /// - Returns: nil where nothing was kept, or nothing that this program understands, or for another source: then the
    ///   upload starts over.
    init?(_ bytes: [UInt8]?, of source: SourceIdentity) {
        guard let bytes, let value = try? JSONValue(parsing: bytes), let described = value["source"],
            let identity = try? SourceIdentity(described), identity.difference(from: source) == nil
        else { return nil }
        if let text = value["tus"]?.string, let url = try? UploadURL(text) {
            let cookies = value["cookies"]?.elements ?? []
            way = .tus(TusLocation(url: url, cookies: cookies.compactMap(UploadCookie.init)))
        } else if let name = value["contentRange"]?.string, let kind = ContentRangeKind(rawValue: name) {
            way = .contentRange(kind)
        } else if let boot = value["copy"]?.string, let synced = value["synced"]?.integer {
            way = .copy(boot: boot, synced: synced)
        } else {
            return nil
        }
        self.source = identity
    }

    init(_ way: Way, of source: SourceIdentity) {
        self.way = way
        self.source = source
    }

    var bytes: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.beginObject()
        switch way {
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
    /// Saves a checkpoint; from now on a cut costs little.
    func leave(_ way: UploadCheckpoint.Way, of source: SourceIdentity) async throws {
        try await saveCheckpoint(UploadCheckpoint(way, of: source).bytes)
        canResume()
    }
}
