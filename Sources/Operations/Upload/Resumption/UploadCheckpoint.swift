internal import Commands
internal import Work

/// What an upload leaves in the store for the execution after it (``Execution/keep(_:)``), so that any worker can go on
/// where this one died. Of use for the same source only.
///
/// ```
/// {"tus": "https://media.example.com/files/24e5", "source": {…}}    where the upload lives
/// {"contentRange": "session", "source": {…}}                        how the destination is asked
/// {"copy": "<boot>", "synced": 268435456, "source": {…}}            what is on disk of a copy, whatever happens
/// ```
struct UploadCheckpoint: Equatable {
    enum Way: Equatable {
        case tus(UploadURL)
        case contentRange(RangeUpload.Dialect)
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
            way = .tus(url)
        } else if let name = value["contentRange"]?.string, let dialect = RangeUpload.Dialect(rawValue: name) {
            way = .contentRange(dialect)
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
        case .tus(let url): writer.member("tus", url.text)
        case .contentRange(let dialect): writer.member("contentRange", dialect.rawValue)
        case .copy(let boot, let synced):
            writer.member("copy", boot)
            writer.member("synced", synced)
        }
        writer.member("source", source.json)
        writer.endObject()
        return writer.bytes
    }
}

extension Execution {
    /// Saves a checkpoint; from now on a cut costs little.
    func leave(_ way: UploadCheckpoint.Way, of source: SourceIdentity) async throws {
        try await keep(UploadCheckpoint(way, of: source).bytes)
        canResume()
    }
}
