internal import Commands
internal import Door
internal import HTTPTypes

/// The last part of the path of a link: its origin, as `https:media.example.com:443`, or percent-encoded as a whole, as
/// `https%3A%2F%2Fmedia.example.com`.
enum LinkPath {
    /// - Throws: 404 for anything else.
    static func destination(_ request: DoorRequest) throws(Problem) -> Destination {
        let text = request.parameters["destination"] ?? ""
        if let destination = Destination(origin: text) { return destination }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, !text.contains("//") {
            let origin = "\(parts[0])://\(parts[1])"
            if let destination = Destination(origin: origin) { return destination }
            if origin == Destination.file.text { return .file }
        }
        throw Problem(
            .notFound, "link-not-found",
            "“\(text.excerpt)” is not the origin of a link; write it as https:media.example.com:443.")
    }

    private static let maxNamed = 10

    /// No link has the destination.
    /// - Parameter known: the destinations of all links.
    static func notFound(_ destination: Destination, known: some Sequence<String>) -> Problem {
        let names = Set(known).sorted()
        var words = "there are none yet"
        if !names.isEmpty {
            words = "there are links to \(names.prefix(maxNamed).map(\.excerpt).joined(separator: ", "))"
            if names.count > maxNamed { words += " and \(names.count - maxNamed) others" }
        }
        return Problem(
            .notFound, "link-not-found",
            "Nothing was sent to \(destination) yet, and it has no settings; \(words). See /links.")
    }
}
