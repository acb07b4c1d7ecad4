internal import HTTPTypes

extension DoorQuery {
    /// Reads `a=1&b=two+words`. A part without `=` is a name with an empty value; empty parts count for nothing.
    /// - Throws: ``Problem`` where a name or value is not percent-encoded UTF-8.
    package init(parsing text: some StringProtocol) throws(Problem) {
        self.init()
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentCoding.decode(pair[0], decodesPlus: true),
                let value = pair.count == 2 ? PercentCoding.decode(pair[1], decodesPlus: true) : ""
            else {
                throw Problem(
                    .badRequest, "bad-query",
                    "The query of the URL is not percent-encoded UTF-8 without NUL; encode its names and values.")
            }
            items.append((name, value))
        }
    }
}
