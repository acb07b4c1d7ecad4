internal import Commands

/// The command of a route.
struct RouteCommand: Sendable {
    let type: String
    let payload: RoutePayload
    /// idempotent, destination, limit, deadline and notBefore, as in a line of bulk submit.
    let options: [JSONValue.Member]

    /// Whether the operation sends a file, and can delete it once the destination has it.

    static func takesFile(_ type: String) -> Bool { type == CommandType.upload || type == CommandType.s3 }

    /// - Parameter payload: without `file`, an upload sends the bytes of the route.
    /// - Throws: ``RouteTemplateError`` with its place below “payload”.
    init(type: String, payload: JSONValue, options: [JSONValue.Member]) throws(RouteTemplateError) {
        self.type = type
        self.options = options
        var payload = payload
        if Self.takesFile(type), var members = payload.members {
            guard payload["removeSource"] == nil else {
                throw RouteTemplateError(
                    pointer: "/removeSource",
                    problem: "remove “removeSource”: “retention” of the route says how long the file is kept")
            }
            if payload["file"] == nil { members.insert(.init("file", .string(RoutePlaceholder.file.text)), at: 0) }
            payload = .object(members)
        }
        self.payload = try RoutePayload(payload, type: type)
    }
}
