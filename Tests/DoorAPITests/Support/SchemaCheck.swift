import Commands

/// Validates values by the part of JSON Schema 2020-12 that the description of the API uses.
struct SchemaCheck {
    let document: JSONValue

    /// The places where a value differs from a schema, in words; empty where it is valid.
    func problems(_ value: JSONValue, _ schema: JSONValue, at path: String = "") -> [String] {
        if let reference = schema["$ref"]?.string {
            guard let target = resolve(reference) else { return ["\(path): no \(reference)"] }
            return problems(value, target, at: path)
        }
        var found: [String] = []
        for part in schema["allOf"]?.elements ?? [] { found += problems(value, part, at: path) }
        if let choices = schema["enum"]?.elements, !choices.contains(value) { found.append("\(path): \(value.text)") }
        if let type = schema["type"], !isOf(value, type) { return found + ["\(path): \(value.kind), not \(type.text)"] }
        for name in schema["required"]?.elements ?? [] where value[name.string ?? ""] == nil {
            found.append("\(path): no \(name.text)")
        }
        for member in value.members ?? [] {
            if let rule = schema["properties"]?[member.name] {
                found += problems(member.value, rule, at: "\(path)/\(member.name)")
            } else if schema["additionalProperties"] == false {
                found.append("\(path)/\(member.name) is not known")
            } else if let rule = schema["additionalProperties"], rule.members != nil {
                found += problems(member.value, rule, at: "\(path)/\(member.name)")
            }
        }
        if let rule = schema["items"] {
            for (index, element) in (value.elements ?? []).enumerated() {
                found += problems(element, rule, at: "\(path)/\(index)")
            }
        }
        if let minimum = schema["minimum"]?.integer, let number = value.integer, number < minimum {
            found.append("\(path): \(number) < \(minimum)")
        }
        return found
    }

    func resolve(_ reference: String) -> JSONValue? {
        guard reference.hasPrefix("#/") else { return nil }
        return reference.dropFirst(2).split(separator: "/").reduce(document as JSONValue?) { $0?[String($1)] }
    }

    /// The value behind references.
    func resolved(_ value: JSONValue) -> JSONValue {
        value["$ref"]?.string.flatMap { resolve($0) } ?? value
    }

    private func isOf(_ value: JSONValue, _ type: JSONValue) -> Bool {
        let names = type.string.map { [$0] } ?? type.elements?.compactMap(\.string) ?? []
        return names.contains { name in
            switch (name, value) {
            case ("null", .null), ("boolean", .bool), ("integer", .integer), ("string", .string), ("array", .array),
                ("object", .object), ("number", .integer), ("number", .number):
                true
            default: false
            }
        }
    }
}
