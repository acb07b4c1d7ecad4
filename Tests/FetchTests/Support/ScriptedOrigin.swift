import Commands

@testable import Fetch
@testable import Transfers

/// An origin whose answers a test scripts, and which records the requests that reach it.
final class ScriptedOrigin {
    struct Response {
        var head: ResponseHead
        var body: String
        var isComplete = true
    }

    enum Answer {
        case response(Response)
        case failure(FetchFailure)

        static func reply(_ status: Int = 200, _ headers: [(String, String)] = [], body: String = "body") -> Answer {
            .response(
                Response(
                    head: ResponseHead(status: status, headers: HeaderFields(headers.map(HTTPField.init))), body: body
                ))
        }

        /// A response whose body ends early.
        static func cut(_ headers: [(String, String)] = []) -> Answer {
            guard case .response(var response) = reply(200, headers, body: "bo") else { return .failure(.disconnected) }
            response.isComplete = false
            return .response(response)
        }
    }

    struct Request {
        var method: String
        var url: String
        var headers: HeaderFields

        var isConditional: Bool { headers.contains("if-none-match") || headers.contains("if-modified-since") }
    }

    /// The next answers. The last one is repeated.
    var script: [(Request, Timestamp) -> Answer] = []
    private(set) var requests: [Request] = []

    func on(_ answers: Answer...) { script = answers.map { answer in { _, _ in answer } } }

    func answer(_ method: String, _ url: String, _ headers: HeaderFields, _ now: Timestamp) -> Answer {
        let request = Request(method: method, url: url, headers: headers)
        requests.append(request)
        guard let next = script.first else { return .failure(.offline) }
        if script.count > 1 { script.removeFirst() }
        return next(request, now)
    }
}
