extension Destination {
    /// Reads an origin as a person configures it: scheme, host and port, and nothing else but a slash at the
    /// end.
    /// - Returns: nil for files, and for a URL with a user, a path, a query or a fragment.
    package init?(origin text: String) {
        guard let range = text.firstRange(of: "//"), let destination = Destination(text), !destination.isFile else {
            return nil
        }
        let rest = text[range.upperBound...]
        guard !rest.contains("@"), rest.dropLast(rest.hasSuffix("/") ? 1 : 0).allSatisfy({ !"/?#".contains($0) })
        else { return nil }
        self = destination
    }
}
