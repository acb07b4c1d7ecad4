internal import Commands
internal import Door
internal import HTTPTypes

/// The last part of the path of a link: its origin without the slashes, as in `https:media.example.com:443`.
enum LinkPath {
    /// - Throws: 404 for anything else.
    static func destination(_ request: DoorRequest) throws(Problem) -> Destination {
        let text = request.parameters["destination"] ?? ""
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let destination = Destination("\(parts[0])://\(parts[1])") else {
            throw Problem(
                .notFound, "link-not-found",
                "“\(text.excerpt)” is not the origin of a link; write it as https:media.example.com:443.")
        }
        return destination
    }
}
