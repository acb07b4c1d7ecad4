internal import HTTPClient

/// A header field of a payload.
struct HTTPField: Sendable, Equatable {
    var name: String
    var value: String

    /// - Parameter other: in lower case.
    func isNamed(_ other: String) -> Bool { name.lowercased() == other }
}
