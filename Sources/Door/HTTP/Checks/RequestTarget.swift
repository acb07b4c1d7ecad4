internal import Commands
internal import HTTPTypes

/// The target of a request (RFC 9112, section 3.2), taken apart.
package struct RequestTarget: Sendable, Equatable {
    /// The parts between the slashes, percent-decoded. One slash at the end counts for nothing. A part has a slash only
    /// where it is an origin, as `https://media.example.com`.
    package var path: [String]
    package var query: DoorQuery
    /// `OPTIONS *` asks about the server as a whole.
    package var isAsterisk = false

    /// - Parameters:
    ///   - text: an absolute path with an optional query, an `http` or `https` URL, or `*`.
    ///   - host: the field Host. A URL must name the same host.
    /// - Throws: ``Problem`` 400 `bad-target`, also for a part that is `.` or `..`.
    package init(_ text: String, host: String) throws(Problem) {
        if text == "*" {
            (path, query, isAsterisk) = ([], DoorQuery(), true)
            return
        }
        let local = try Self.localPart(of: text, host: host)
        guard local.utf8.first == UInt8(ascii: "/"), !local.utf8.contains(UInt8(ascii: "#")) else {
            throw Self.problem("The target of the request is neither a path nor a URL of this server; send the path.")
        }
        let parts = local.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        query = try parts.count == 2 ? DoorQuery(parsing: parts[1]) : DoorQuery()
        path = []
        var segments = parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        if segments.last?.isEmpty == true { segments.removeLast() }
        for segment in segments { path.append(try Self.decode(segment)) }
    }

    private static func localPart(of text: String, host: String) throws(Problem) -> Substring {
        guard let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) }) else {
            return Substring(text)
        }
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard rest[..<end].lowercased() == host.lowercased() else {
            throw problem("The URL of the request names another host than the field Host; send the same in both.")
        }
        if end == rest.endIndex { return "/" }
        return rest[end] == "?" ? "/" + rest[end...] : rest[end...]
    }

    private static func decode(_ segment: Substring) throws(Problem) -> String {
        guard let text = PercentCoding.decode(segment) else {
            throw problem("A part of the path is not percent-encoded UTF-8 without NUL; encode each part by itself.")
        }
        // The resource of a link is named by an origin, which is the only text with slashes.
        let mayContainSlash = Destination(origin: text) != nil
        guard text != ".", text != "..", mayContainSlash || !text.utf8.contains(UInt8(ascii: "/")) else {
            throw problem("A part of the path is “.” or “..”, or contains a slash; name the resource itself.")
        }
        return text
    }

    private static func problem(_ detail: String) -> Problem { Problem(.badRequest, "bad-target", detail) }
}
