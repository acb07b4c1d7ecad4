/// The head of a response, as the rules of the cache read it.
struct ResponseHead: Sendable, Equatable {
    /// 100…999.
    var status: Int
    var headers: HeaderFields

    init(status: Int, headers: HeaderFields) {
        self.status = status
        self.headers = headers
    }

    init(_ status: Int, _ headers: [(name: String, value: String)] = []) {
        self.init(status: status, headers: HeaderFields(headers))
    }
}
