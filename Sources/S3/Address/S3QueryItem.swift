/// One parameter of a query, not encoded. A parameter without a value has an empty one.
package struct S3QueryItem: Sendable, Equatable {
    var name: String
    var value: String

    package init(_ name: String, _ value: String = "") {
        self.name = name
        self.value = value
    }
}
