/// A static string that can be compared.
package struct StaticStringBox: Sendable, Equatable, CustomStringConvertible {
    private let text: StaticString

    init(_ text: StaticString) { self.text = text }

    package var description: String { "\(text)" }

    package static func == (left: Self, right: Self) -> Bool { left.description == right.description }
}
