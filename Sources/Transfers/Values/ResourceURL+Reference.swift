extension ResourceURL {
    /// The URL that a `Location` in an answer from this URL refers to (RFC 3986, section 5.2).
    /// - Returns: nil where it is not a valid URL for an upload.
    package func resolving(_ reference: String) -> ResourceURL? {
        let reference = String(reference.prefix { $0 != "#" })
        if let colon = reference.firstIndex(of: ":"), !reference[..<colon].contains(where: { "/?".contains($0) }) {
            return try? ResourceURL(reference)
        }
        if reference.hasPrefix("//") { return try? ResourceURL("\(scheme.rawValue):\(reference)") }
        if reference.isEmpty { return self }
        let path = path.isEmpty ? "/" : path
        if reference.hasPrefix("?") { return try? ResourceURL(origin + path + reference) }
        let end = reference.firstIndex(of: "?") ?? reference.endIndex
        let target = reference[..<end]
        let directory = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
        let merged = String(target.hasPrefix("/") ? target : directory + target)
        return try? ResourceURL(origin + Self.withoutDots(merged) + reference[end...])
    }

    /// Removes dot segments (section 5.2.4).
    private static func withoutDots(_ path: String) -> String {
        var kept: [Substring] = []
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
