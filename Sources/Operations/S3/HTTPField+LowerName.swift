extension HTTPField {
    init(_ name: String, _ value: String) { self.init(name: name, value: value) }

    /// The name in lower case. Names are ASCII.
    var lowerName: String { name.lowercased() }
}
