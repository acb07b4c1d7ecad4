internal import Commands

/// Reads the values of a flow document; it makes the errors of one file.
struct FlowTextReader {
    let file: String?

    func error(_ position: SourcePosition?, node: String? = nil, _ problem: String) -> FlowDocumentError {
        FlowDocumentError(file: file, position: position, node: node, problem: problem)
    }

    /// The members of a mapping.
    /// - Parameter subject: the name of the value in errors.
    func members(
        of value: LocatedValue, _ subject: String, at position: SourcePosition? = nil, node: String? = nil
    ) throws(FlowDocumentError) -> [LocatedValue.Member] {
        guard let members = value.members else {
            throw error(position ?? value.position, node: node, "\(subject) must be a mapping, not \(value.value.kind)")
        }
        return members
    }

    func string(_ member: LocatedValue.Member, node: String? = nil) throws(FlowDocumentError) -> String {
        switch member.value.value {
        case .string(let text): return text
        case .bool, .integer, .number, .decimal:
            throw error(
                member.position, node: node,
                "“\(member.name)” must be a string, not \(member.value.value.kind); write it in quotes")
        case .null, .array, .object:
            throw error(
                member.position, node: node, "“\(member.name)” must be a string, not \(member.value.value.kind)")
        }
    }

    func unknownKey(
        _ member: LocatedValue.Member, known: [String], _ subject: String, node: String? = nil
    ) -> FlowDocumentError {
        let name = member.name.excerpt
        guard let near = NearestName.find(member.name, among: known) else {
            let list = known.dropLast().joined(separator: ", ") + " and " + (known.last ?? "")
            return error(member.position, node: node, "unknown key “\(name)”: \(subject) has \(list)")
        }
        return error(member.position, node: node, "unknown key “\(name)”; is it “\(near)”?")
    }
}
