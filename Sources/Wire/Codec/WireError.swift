/// Why bytes are not a message.
package struct WireError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Problem: Sendable, Equatable {
        case truncated
        case unknownVersion(UInt8)
        case unknownType(UInt8)
        case badValue
        case badText
    }

    package var problem: Problem
    /// The field that could not be read.
    package var field: String

    package init(_ problem: Problem, _ field: StaticString) {
        self.problem = problem
        self.field = field.description
    }

    package var description: String {
        switch problem {
        case .truncated: "the frame ends before “\(field)”"
        case .unknownVersion(let version): "version \(version) of the protocol is not known here"
        case .unknownType(let type): "message type \(type) is not known here"
        case .badValue: "“\(field)” has a value that the protocol does not know"
        case .badText: "“\(field)” is not valid UTF-8"
        }
    }
}
