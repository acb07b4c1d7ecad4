internal import Commands
internal import Synchronization

/// The server of a list, which a closure answers.
package final class ListOrigin: RequestHandler {
    package struct Request {
        package var number: Int
        package var path: String
        /// The parameters of the query, not decoded.
        package var query: [String: String]
        package var headers: HandledRequest
    }

    private let number = Atomic(0)
    private let answer: Mutex<@Sendable (Request) -> Behaviour>

    package init(_ answer: @escaping @Sendable (Request) -> Behaviour) { self.answer = Mutex(answer) }

    package func set(_ answer: @escaping @Sendable (Request) -> Behaviour) { self.answer.withLock { $0 = answer } }

    package func respond(to request: HandledRequest) -> Behaviour {
        let parts = request.target.split(separator: "?", maxSplits: 1)
        var query: [String: String] = [:]
        for field in parts.count == 2 ? parts[1].split(separator: "&") : [] {
            let pair = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            query[String(pair[0])] = pair.count == 2 ? String(pair[1]) : ""
        }
        let made = Request(
            number: number.add(1, ordering: .relaxed).newValue, path: parts.first.map(String.init) ?? "", query: query,
            headers: request)
        return answer.withLock { $0 }(made)
    }
}

extension Behaviour {
    /// A 200 with JSON.
    package static func json(_ body: String, headers: [String: String] = [:]) -> Behaviour {
        .answer(200, headers: headers.merging(["Content-Type": "application/json"]) { first, _ in first }, body: body)
    }
}

/// `[{"id":1},{"id":2}]`
package func list(_ ids: some Sequence<Int>, _ more: String = "") -> String {
    "[" + ids.map { "{\"id\":\($0)\(more.isEmpty ? "" : ",\(more)")}" }.joined(separator: ",") + "]"
}
