/// One line of a script: the conditions on a request, and the steps.
package struct ScriptRule: Sendable, Equatable {
    enum Condition: Sendable, Equatable {
        case numbers(ClosedRange<Int>)
        case every(Int)
        case bodyAbove(Int)
        case activeAbove(Int)
        case idleAbove(Duration)
        /// The name is in lower case.
        case with(String, value: String?)
        case without(String, value: String?)
    }

    /// The properties of a request that conditions compare.
    struct Request {
        var method: String
        /// The target without its query.
        var path: String
        /// The Content-Length; 0 where the request has none.
        var declared: Int
        /// The number of requests that are not answered yet, this one included.
        var active: Int
        /// The time since the last response on the connection; zero for its first request.
        var idle: Duration
        /// The header fields by lower-case name.
        var headers: [String: String]
    }

    /// The method; nil for every method.
    var method: String?
    /// The start of the target, or the whole target.
    var prefix: String
    var isExact: Bool
    /// Whether each target has its own count.
    var countsEachPath = false
    var conditions: [Condition] = []
    var steps: [ScriptStep] = []

    /// Whether method and pattern match; such a request is counted.
    func covers(_ request: Request) -> Bool {
        guard method == nil || method == request.method else { return false }
        return isExact ? request.path == prefix : request.path.utf8.starts(with: prefix.utf8)
    }

    /// - Parameter number: the number of the request among those that match method and pattern, from 1.
    func holds(_ request: Request, number: Int) -> Bool {
        conditions.allSatisfy { condition in
            switch condition {
            case .numbers(let range): range.contains(number)
            case .every(let period): number.isMultiple(of: period)
            case .bodyAbove(let size): request.declared > size
            case .activeAbove(let count): request.active > count
            case .idleAbove(let limit): request.idle > limit
            case .with(let name, let value): Self.has(request.headers[name], value)
            case .without(let name, let value): !Self.has(request.headers[name], value)
            }
        }
    }

    private static func has(_ given: String?, _ value: String?) -> Bool {
        guard let given else { return false }
        return value == nil || given == value
    }
}
