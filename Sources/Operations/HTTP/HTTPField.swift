/// A header field of a payload, a request or a response.
struct HTTPField: Sendable, Equatable {
    /// As given. Names are compared without case (RFC 9110, section 5.1).
    var name: String
    var value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// The name in lower case. Names are ASCII.
    var lowerName: String { name.lowercased() }

    /// - Parameter other: in lower case.
    func isNamed(_ other: String) -> Bool { lowerName == other }
}
