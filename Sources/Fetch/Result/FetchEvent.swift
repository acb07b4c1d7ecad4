internal import Commands

/// An event `response/<uuid>` of a fetch: a hint to programs that show the response.
enum FetchEvent {
    /// Of an answer.
    /// - Parameters:
    ///   - isFirst: it is shown while the origin is asked.
    ///   - url: to display, after redirects.
    static func body(_ result: FetchResult, isFirst: Bool, url: String, at: Timestamp) -> JSONValue {
        var members = head(url, result.stage(isFirst: isFirst), at)
        members.append(.init("status", .integer(Int64(result.status))))
        guard !result.isWithheld else { return .object(members) }
        members += [
            .init("age", result.age.map { .integer($0.wholeSeconds) } ?? .null),
            .init("changed", .bool(result.changed)),
            .init("bytes", .integer(result.bytes)),
        ]
        return .object(members)
    }

    /// Of an execution that brings no answer.
    static func failed(url: String, at: Timestamp) -> JSONValue { .object(head(url, .failed, at)) }

    private static func head(_ url: String, _ stage: FetchStage, _ at: Timestamp) -> [JSONValue.Member] {
        [
            .init("url", .string(url)), .init("stage", .string(stage.rawValue)), .init("at", .string(at.description)),
        ]
    }
}
