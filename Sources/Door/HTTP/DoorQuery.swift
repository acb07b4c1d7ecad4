/// The query of a URL, form-decoded, in its order.
package struct DoorQuery: Sendable, Equatable {
    package var items: [(name: String, value: String)]

    package init(_ items: [(name: String, value: String)] = []) { self.items = items }

    /// The value of the first item with that name; nil without one.
    package subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }

    package static func == (one: DoorQuery, other: DoorQuery) -> Bool {
        one.items.elementsEqual(other.items) { $0 == $1 }
    }
}
