internal import HTTPClient
internal import Operations

/// The statuses that count as success of a `request`: a list such as `2xx,404`.
struct AcceptedStatuses: Sendable, Equatable {
    /// As given.
    let text: String
    private let ranges: [ClosedRange<Int>]

    static let standard = AcceptedStatuses(text: "2xx", ranges: [200...299])

    private init(text: String, ranges: [ClosedRange<Int>]) {
        self.text = text
        self.ranges = ranges
    }

    /// - Throws: ``PayloadError`` for an empty list, and for a member that is neither a status from 200 to 599
    ///   nor `2xx` to `5xx`.
    init(_ text: String) throws(PayloadError) {
        var ranges: [ClosedRange<Int>] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let word = part.trimmed
            if word.utf8.count == 3, word.utf8.dropFirst().elementsEqual("xx".utf8), let first = Int(word.prefix(1)),
                (2...5).contains(first)
            {
                ranges.append(first * 100...first * 100 + 99)
            } else if let status = Int(word), (200...599).contains(status) {
                ranges.append(status...status)
            } else {
                throw PayloadError(
                    .data, "“accept” has “\(word.prefix(40))”; its members are statuses such as 404, or 2xx to 5xx")
            }
        }
        self.init(text: text, ranges: ranges)
    }

    func contains(_ status: Int) -> Bool { ranges.contains { $0.contains(status) } }
}
