/// Why a text is not a JSON Pointer.
struct JSONPointerError: Error, Sendable, Equatable, CustomStringConvertible {
    var pointer: String
    var problem: String

    var description: String { "“\(pointer.prefix(80))” is not a JSON Pointer: \(problem)" }
}
