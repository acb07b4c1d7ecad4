internal import Commands
internal import Operations

/// The treatment of one output: `{"keep": "tail", "limit": 65536, "to": "/data/log"}`.
struct ExecOutputRule: Sendable, Equatable {
    static let maxLimit: Int64 = 1 << 20

    var keep = OutputTail.Keep.tail
    /// Bytes in the result.
    var limit = 65_536
    /// A file that gets the whole output; in the directory of the program.
    var to: String?

    init() {}

    /// - Parameter name: of the member, for errors.
    init(_ value: JSONValue, _ name: String) throws(PayloadError) {
        guard let members = value.members else {
            throw PayloadError(.data, "“\(name)” must be an object, not \(value.kind)")
        }
        for member in members {
            switch member.name {
            case "keep":
                guard let keep = member.value.string.flatMap(OutputTail.Keep.init(rawValue:)) else {
                    throw PayloadError(.data, "“keep” of “\(name)” must be “head” or “tail”")
                }
                self.keep = keep
            case "limit":
                guard let limit = member.value.integer, (0...Self.maxLimit).contains(limit) else {
                    throw PayloadError(.data, "“limit” of “\(name)” must be a whole number from 0 to \(Self.maxLimit)")
                }
                self.limit = Int(limit)
            case "to":
                guard let path = member.value.string else {
                    throw PayloadError(.data, "“to” of “\(name)” must be a string, not \(member.value.kind)")
                }
                if let objection = ExecProgram.objection(toPath: path) {
                    throw PayloadError(.data, "“to” of “\(name)” \(objection)")
                }
                to = path
            default:
                throw PayloadError(.data, "unknown key “\(member.name)” in “\(name)”; it has “keep”, “limit” and “to”")
            }
        }
    }

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("keep", .string(keep.rawValue)), .init("limit", .integer(Int64(limit))),
        ]
        if let to { members.append(.init("to", .string(to))) }
        return .object(members)
    }
}
