@testable import Fetch

/// One test of the public suite http-tests/cache-tests (commit b55b8bd), as facts: its id, the requests, the
/// answers of the origin, and the expected behaviour. The suite runs against proxies and browsers over HTTP;
/// ``CacheCaseRunner`` runs these facts against ``CacheRules``.
struct CacheCase: Sendable, CustomStringConvertible {
    var id: String
    /// Whether the test is about shared caches.
    var isShared = false
    var steps: [Step]

    var description: String { id }

    struct Step: Sendable {
        var method = "GET"
        var query = ""
        /// Of the request: `Foo: 1 | Bar: abc`.
        var request = ""
        var mode = FetchNetworkUse.both
        var status = 200
        /// Of the origin's answer: `Cache-Control: max-age=2 | Date: @0`. `@` and a number stand for a date
        /// that many seconds from now.
        var reply = ""
        /// Nil: one that is the same in every step.
        var body: String?
        /// Status and header of a response before the final one.
        var interim: (status: Int, fields: String)?
        /// The origin closes the connection without an answer.
        var isCut = false
        /// Three seconds pass afterwards.
        var waits = false
        var expected: [Expectation] = []
    }

    enum Expectation: Sendable, Equatable {
        /// From the store, without a request that it waits for.
        case stored
        /// From the origin, by a request of this step.
        case asked
        /// Confirmed by the origin: the request has this condition.
        case validated(by: String)
        /// No answer at all.
        case unanswered
        case has(String, String)
        case hasMore(String, than: Int)
        /// As in the first answer of the origin.
        case unchanged(String)
        case lacks(String)
        /// The header that reached the origin.
        case sent(String, String)
    }
}

extension CacheCase {
    /// The usual form: the answer to a first request decides about a second one like it.
    static func reply(
        _ id: String, _ reply: String, waits: Bool = true, shared: Bool = false, then expected: Expectation...
    ) -> CacheCase {
        CacheCase(
            id: id, isShared: shared,
            steps: [Step(reply: reply, waits: waits), Step(expected: expected)])
    }
}
