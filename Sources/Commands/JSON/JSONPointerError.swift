/// Why a text is not a JSON Pointer.
package struct JSONPointerError: Error, Sendable, Equatable, CustomStringConvertible {
    package var pointer: String
    package var problem: String

    package var description: String { "“\(pointer.prefix(80))” is not a JSON Pointer: \(problem)" }
}
