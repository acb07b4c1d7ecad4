internal import Commands
internal import HTTPClient
internal import HTTPTypes

/// `Upload-Concat` of tus.
enum TusConcatenation: Equatable {
    case partial
    /// The uploads to join, in their order.
    case final([CommandID])

    /// - Returns: nil where the field is absent.
    /// - Throws: 400 for a malformed or repeated field, and for URLs that are not those of uploads.
    static func read(_ fields: HTTPFields) throws(Problem) -> TusConcatenation? {
        let values = fields[values: .uploadConcat]
        guard let text = values.first else { return nil }
        guard values.count == 1 else { throw refusal("is there \(values.count) times; send it once") }
        if text.trimmed == "partial" { return .partial }
        let parts = text.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].trimmed == "final" else {
            throw refusal("is neither “partial” nor “final;” with the URLs of the parts")
        }
        var ids: [CommandID] = []
        for url in parts[1].split(whereSeparator: { $0 == " " || $0 == "\t" }) {
            guard let id = id(url) else {
                throw refusal("names “\(url.excerpt)”, which is not the URL of an upload here")
            }
            ids.append(id)
        }
        guard !ids.isEmpty else { throw refusal("names no part") }
        return .final(ids)
    }

    /// - Parameter location: the URL of an upload, from its id.
    func text(_ location: (CommandID) -> String) -> String {
        switch self {
        case .partial: "partial"
        case .final(let ids): "final;" + ids.map(location).joined(separator: " ")
        }
    }

    /// Absolute URLs and paths both end with `/uploads/` and the id.
    private static func id(_ url: Substring) -> CommandID? {
        let parts = url.utf8.split(separator: .slash, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[parts.count - 2].elementsEqual("uploads".utf8) else { return nil }
        return CommandID(Substring(parts[parts.count - 1]))
    }

    private static func refusal(_ reason: String) -> Problem {
        Problem(.badRequest, "invalid-concatenation", "Upload-Concat \(reason).")
    }
}
