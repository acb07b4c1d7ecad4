internal import Commands
internal import Door

/// Reads the filter of a bulk action: the same fields as the query of the list.
enum FilterReader {
    private static let known = ["status", "qos", "destination", "type", "batch", "reason", "q", "from", "before"]

    /// - Throws: 400 for an unknown field, and for a value of another form.
    static func filter(_ value: JSONValue) throws(Problem) -> CommandFilter {
        guard let members = value.members else {
            throw JSONBody.problem("“filter” must be an object, not \(value.kind).")
        }
        var query = DoorQuery()
        for member in members {
            guard known.contains(member.name) else {
                throw JSONBody.problem(
                    "“filter” has no field “\(member.name.excerpt)”; it has \(known.joined(separator: ", ")).")
            }
            let values = member.name == "status" ? member.value.elements ?? [member.value] : [member.value]
            guard !values.isEmpty else {
                throw JSONBody.problem("“\(member.name)” in “filter” is an empty list; leave it out, or name one.")
            }
            for value in values {
                guard let text = value.string else {
                    throw JSONBody.problem("“\(member.name)” in “filter” must be a string, not \(value.kind).")
                }
                query.items.append((member.name, text))
            }
        }
        return try CommandListQuery.filter(QueryReader(query))
    }
}
